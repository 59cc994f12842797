import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import main
from app.cli.vendors_page import vendors_page
from tests.vendor import SimulatedVendor, json_reply

DOCS = Path(__file__).parent.parent.parent / "docs" / "vendors.md"


def run(*args: str, **env: str) -> Result:
    return CliRunner().invoke(main, ["vendors", *args], env={"TOLLGATE_VENDORS": "", **env})


def test_the_page_says_what_the_table_says() -> None:
    assert DOCS.read_text() == vendors_page() == run("--markdown").stdout, (
        "run `tollgate vendors --markdown > docs/vendors.md`"
    )


def test_each_vendor_is_shown_with_what_it_lacks() -> None:
    result = run(OPENAI_API_KEY="sk-secret-1", COHERE_API_KEY="")
    assert result.exit_code == 0
    lines = {line.split()[0]: line for line in result.stdout.splitlines()}
    assert "yes" in lines["openai"]
    assert "CO_API_KEY is not set" in lines["cohere"]
    assert "sk-secret" not in result.output


def test_check_tells_who_answers_and_fails_when_one_does_not(
    tmp_path: Path, vendor: SimulatedVendor
) -> None:
    def models(status: int) -> str:
        return f'[vendors.v{status}]\ngateway = "openai"\nbase_url = "{vendor.url}/{status}"\n'

    table = tmp_path / "vendors.toml"
    vendor.default = lambda asked: json_reply({}, int(asked.path.split("/")[2]))
    table.write_text(models(200) + models(404))
    result = run("--check", "--json", TOLLGATE_VENDORS=str(table))
    checks = {row["vendor"]: row["check"] for row in json.loads(result.stdout)}
    assert result.exit_code == 0
    assert checks["v200"] == "ok"
    assert "not checked" in checks["v404"]
    assert checks["openai"] is None

    down = '[vendors.down]\ngateway = "openai"\nbase_url = "http://127.0.0.1:1/v1"\n'
    table.write_text(models(401) + models(503) + down)
    result = run("--check", "--json", TOLLGATE_VENDORS=str(table))
    checks = {row["vendor"]: row["check"] for row in json.loads(result.stdout)}
    assert result.exit_code == 1
    assert checks["v401"] == "key refused (HTTP 401)"
    assert checks["v503"] == "fails (HTTP 503)"
    assert checks["down"].startswith("unreachable")


def test_a_wrong_table_is_a_sentence(tmp_path: Path) -> None:
    table = tmp_path / "vendors.toml"
    table.write_text('[vendors.x]\ngateway = "nope"\n')
    result = run(TOLLGATE_VENDORS=str(table))
    assert result.exit_code == 1
    assert "gateway" in result.stderr


@pytest.mark.parametrize("flag", ["--check", "--json"])
def test_the_help_says_what_a_flag_does(flag: str) -> None:
    assert flag in run("--help").stdout
