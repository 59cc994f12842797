"""The version, wherever it is told."""

import re
from importlib.metadata import version

from click.testing import CliRunner

from app import __version__
from app.cli import main
from app.settings import ROOT
from tests.api.test_metrics import scraped, value
from tests.support.gateway import Gateway


def test_the_distribution_has_it() -> None:
    assert version("tollgate-gateway") == __version__


def test_the_command_tells_it() -> None:
    output = CliRunner().invoke(main, ["--version"]).output
    assert output == f"tollgate, version {__version__}\n"


def test_the_description_and_the_metrics_tell_it(gateway: Gateway) -> None:
    assert gateway.get("/../openapi.json").json()["info"]["version"] == __version__
    assert value(scraped(gateway.base_url), "tollgate_build_info", version=__version__) == 1


def test_the_changelog_says_how_to_upgrade_to_it() -> None:
    """A release is cut before its version is declared."""
    text = (ROOT / "CHANGELOG.md").read_text()
    releases = re.split(r"^## \[", text, flags=re.MULTILINE)[1:]
    named = {it.split("]")[0]: it for it in releases}
    assert "### Upgrading" in named[__version__]
