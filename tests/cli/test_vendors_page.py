"""The page of vendors, generated from the table."""

import re
import tomllib

from app.cli.vendors_page import vendors_page
from app.settings import ROOT
from app.vendors.table import BUILT_IN


def test_the_page_in_the_documentation_is_the_generated_one() -> None:
    assert (ROOT / "docs" / "vendors.md").read_text(encoding="utf-8") == vendors_page()


def test_each_vendor_has_a_line_and_a_section() -> None:
    page, table = vendors_page(), tomllib.loads(BUILT_IN.read_text(encoding="utf-8"))["vendors"]
    for name, entry in table.items():
        assert f"| [{name}](#{name}) | {entry['gateway']} |" in page
        section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert f"- base URL: `{entry['base_url']}`" in section
        assert re.search(r"^- (native|chat): unsupported: ", section, re.MULTILINE)


def test_user_is_never_listed_as_unsupported() -> None:
    for line in vendors_page().splitlines():
        if line.startswith(("- native", "- chat")):
            assert "`user`" not in line
