"""docs/settings.md, .env.example, app.json and the units name settings that the code reads."""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from app.settings import FILES, NUMBERS, ROOT, WORDS

#: What the libraries of Tollgate read, and the page explains.
OF_LIBRARIES = {
    "GUNICORN_CMD_ARGS",
    "TMPDIR",
    "AWS_ACCESS_KEY_ID",
    "AWS_REGION",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
}

#: What only compose.yaml reads.
OF_COMPOSE = {"POSTGRES_PASSWORD"}

_ENVIRONMENT = re.compile(r"(self\.)?env\b|os\.environ\b")

#: Names that can only be settings.
_OURS = re.compile(r"TOLLGATE_[A-Z_]+|\w+_CA_BUNDLE|SSL_CERT_\w+|OTEL_[A-Z_]+")

_NAME = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|PORT|BIND")


def read_names() -> set[str]:
    """The names that the code reads from an environment, or keeps in a table of such names."""
    names = {name for name, _ in WORDS.values()} | set(FILES.values()) | set(NUMBERS.values())
    names |= {text for text in texts() if _OURS.fullmatch(text)}
    return names | {name for tree in trees() for name in _looked_up(tree)}


@cache
def trees() -> list[ast.Module]:
    """The modules of the code."""
    folders = ("app", "workers", "config")
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return [ast.parse(path.read_text(encoding="utf-8")) for path in paths]


@cache
def texts() -> set[str]:
    """All strings in the code."""
    nodes = (node for tree in trees() for node in ast.walk(tree))
    found = (node.value for node in nodes if isinstance(node, ast.Constant))
    return {it for it in found if isinstance(it, str)}


def _looked_up(tree: ast.Module) -> Iterator[str]:
    """The names in `env.get("NAME")` and `os.environ["NAME"]`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            of, key = node.value, node.slice
        elif isinstance(node, ast.Call) and node.args:
            of, key = node.func, node.args[0]
        else:
            continue
        name = key.value if isinstance(key, ast.Constant) else None
        if _ENVIRONMENT.match(ast.unparse(of)) and isinstance(name, str) and _NAME.fullmatch(name):
            yield name


def page_names() -> set[str]:
    """The variables in the tables and the text of the page."""
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    return {name for name in re.findall(r"`([A-Z][A-Z0-9_]+)[`=]", text) if _NAME.fullmatch(name)}


def vendor_names() -> set[str]:
    """The variables that config/vendors.toml names."""
    text = (ROOT / "config" / "vendors.toml").read_text(encoding="utf-8")
    return set(
        re.findall(r"\b[A-Z]\w+_(?:KEY|URL|ENDPOINT|BEDROCK|REGION|PROJECT|LOCATION)\b", text)
    )


def env_lines(path: Path) -> dict[str, str]:
    """The lines `NAME=value` of a file; those that are commented out, too."""
    found = re.findall(
        r"^#?([A-Z][A-Z0-9_]+)=(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE
    )
    return dict(found)


def test_the_page_lists_every_setting_that_the_code_reads() -> None:
    listed = page_names()
    assert sorted(read_names() - listed - vendor_names()) == []


def test_the_page_lists_no_setting_that_nothing_reads() -> None:
    known = texts() | vendor_names() | OF_LIBRARIES
    assert sorted(page_names() - known) == []


def test_the_example_has_settings_that_exist_each_with_a_comment() -> None:
    path = ROOT / ".env.example"
    assert sorted(set(env_lines(path)) - page_names() - vendor_names() - OF_COMPOSE) == []
    before = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if re.match(r"#?[A-Z][A-Z0-9_]+=", line):
            assert before.startswith("#"), f"no comment above {line}"
        before = line


def test_the_example_sets_what_the_page_calls_required() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    required = re.findall(r"^\| `(\w+)` \|.*\| required \|$", page, re.MULTILINE)
    assert "REDIS_URL" in required
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    assert [name for name in required if not re.search(rf"^{name}=.", text, re.MULTILINE)] == []


@pytest.mark.parametrize("value", env_lines(ROOT / ".env.example").values())
def test_the_example_can_be_read_by_all_that_read_such_files(value: str) -> None:
    """systemd, compose and shells differ in quotes, blanks, comments and dollars."""
    assert not set(value) & set("'\"# $\\")


def test_the_app_on_heroku_has_the_processes_of_the_procfile_and_settings_that_exist() -> None:
    app = json.loads((ROOT / "app.json").read_text(encoding="utf-8"))
    procfile = (ROOT / "Procfile").read_text(encoding="utf-8")
    processes = set(re.findall(r"^(\w+):", procfile, re.MULTILINE)) - {"release"}
    assert set(app["formation"]) == processes
    assert app["formation"]["beat"]["quantity"] == 1
    assert sorted(set(app["env"]) - page_names() - vendor_names()) == []
    assert all(it["description"] for it in app["env"].values())
    added = {it["as"] for it in app["addons"]}
    assert {f"{name}_URL" for name in added} == {"REDIS_URL", "DATABASE_URL"}


def test_the_page_on_heroku_sets_what_the_app_sets() -> None:
    page = (ROOT / "docs" / "heroku.md").read_text(encoding="utf-8")
    line = re.search(r"^heroku config:set (.+)$", page, re.MULTILINE)
    assert line is not None
    told = dict(word.split("=") for word in line[1].split())
    app = json.loads((ROOT / "app.json").read_text(encoding="utf-8"))
    assert told == {name: it.get("value", "…") for name, it in app["env"].items()}
    assert all(it["plan"] in page for it in app["addons"])
