"""The pages of errors: generated, complete, and where the errors' `doc_url` leads."""

import re
import subprocess
import sys

import pytest
from flask import Flask

from app.api import register_api
from app.api.error_codes import RETRIES, anchor, entries, error_classes
from app.api.errors import render
from app.api.errors_markdown import errors_page
from app.server.rejection import reject
from app.settings import ROOT
from app.vocabulary import errors
from app.vocabulary.errors import (
    SHOULD_RETRY,
    InvalidRequest,
    TollgateError,
    VendorRejected,
    is_retried,
)
from tests.server.sockets import connected

CODES = {entry.code for entry in entries()}


def test_the_page_in_the_documentation_is_the_generated_one() -> None:
    assert (ROOT / "docs" / "errors.md").read_text(encoding="utf-8") == errors_page()


def test_the_command_of_the_pages_head_writes_it() -> None:
    command = [sys.executable, "-m", "app.api.errors_markdown"]
    assert subprocess.check_output(command, cwd=ROOT, text=True) == errors_page()


@pytest.mark.parametrize("error", list(error_classes()))
def test_each_error_is_explained_with_who_acts_and_whether_to_retry(
    error: type[TollgateError],
) -> None:
    assert anchor(error) in CODES
    assert error.acts.endswith(".")
    assert error.retry in RETRIES
    section = errors_page().partition(f"\n## {anchor(error)}\n")[2].partition("\n## ")[0]
    assert "- who has to act: " in section
    assert "- retry: " in section


def test_every_class_that_is_not_only_a_base_is_on_the_page() -> None:
    classes = {it for it in vars(errors).values() if isinstance(it, type)}
    leaves = {it for it in classes if issubclass(it, TollgateError) and not it.__subclasses__()}
    assert leaves <= set(error_classes())


@pytest.mark.parametrize("error", list(error_classes()))
def test_clients_are_told_not_to_retry_what_fails_again(error: type[TollgateError]) -> None:
    if error.retry == "no" and is_retried(error.status):
        assert error("x").headers[SHOULD_RETRY] == "false"
    elif not issubclass(error, VendorRejected | errors.ShuttingDown):
        assert SHOULD_RETRY not in error("x").headers


def test_the_doc_url_of_an_error_is_a_heading_of_the_page() -> None:
    app = Flask("api")
    register_api(app)
    page = app.test_client().get("/docs/errors").text
    headings = set(re.findall(r'<section id="([^"]+)"', page))
    assert headings == CODES
    made = [InvalidRequest("x", code="invalid_value"), VendorRejected("x", vendor_status=400)]
    made += [VendorRejected("x", vendor_status=400, code="context_length_exceeded")]
    with app.test_request_context("/", headers={"host": "gate.example:8000"}):
        for error in made:
            found = render(error).get_json()["error"]
            url, _, heading = found["doc_url"].partition("#")
            assert url == "http://gate.example:8000/docs/errors"
            assert heading in headings


def test_the_servers_own_rejections_are_on_the_page() -> None:
    for exc in (TimeoutError(), ValueError()):
        with connected() as (server, _client):
            assert reject(server, exc) in CODES
