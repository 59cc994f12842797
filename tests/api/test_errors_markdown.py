"""The page of errors in docs/, generated and complete, and the served one that `doc_url` names."""

import re
import subprocess
import sys

from flask import Flask

from app.api import register_api
from app.api.error_codes import entries
from app.api.errors import render
from app.api.errors_markdown import errors_page
from app.settings import ROOT
from app.vocabulary.errors import InvalidRequest, VendorRejected


def test_the_page_in_the_documentation_is_the_generated_one() -> None:
    assert (ROOT / "docs" / "errors.md").read_text(encoding="utf-8") == errors_page()


def test_the_command_in_the_pages_head_writes_it() -> None:
    command = [sys.executable, "-W", "error", "-m", "app.api.errors_markdown"]
    assert subprocess.check_output(command, cwd=ROOT, text=True) == errors_page()


def test_each_code_has_a_section_and_a_line_in_the_table() -> None:
    for entry in entries():
        assert f"| [`{entry.code}`](#{entry.code}) |" in errors_page()
        section = errors_page().partition(f"\n## {entry.code}\n")[2].partition("\n## ")[0]
        assert re.search(r"\A\n\w", section)
        for line in ("- status: ", "- who has to act: ", "- retry: "):
            assert line in section


def test_the_doc_url_of_an_error_is_a_heading_of_the_served_page() -> None:
    app = Flask("api")
    register_api(app)
    headings = set(re.findall(r'<section id="([^"]+)"', app.test_client().get("/docs/errors").text))
    assert headings == {entry.code for entry in entries()}
    made = [InvalidRequest("x", code="invalid_value"), VendorRejected("x", vendor_status=400)]
    made += [VendorRejected("x", vendor_status=400, code="context_length_exceeded")]
    with app.test_request_context("/", headers={"host": "gate.example:8000"}):
        for error in made:
            url, _, heading = render(error).get_json()["error"]["doc_url"].partition("#")
            assert url == "http://gate.example:8000/docs/errors"
            assert heading in headings
