"""The documentation names directories, files, headings and Redis keys that exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.settings import ROOT
from app.storage.redis import keys
from app.storage.sql.tables import metadata

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])

#: What starts with one of these, in code font, is a path in the repository.
FOLDERS = ("app/", "bench/", "config/", "docs/", "tests/", "workers/")

#: What the guide for contributors adds as an example.
EXAMPLES = {
    "app/dashboard/templates/dashboard/vendors.html",
    "tests/support/vendors/acme.py",
}
EXAMPLE_NAMES = {"AcmeWire", "queue_ms"}


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


def links(page: Path) -> Iterator[str]:
    """The targets of a page's links that are in the repository."""
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith(("http://", "https://")):
            yield target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for target in links(page):
        name, _, anchor = target.partition("#")
        found = (page.parent / name).resolve() if name else page
        if not found.exists() or (anchor and anchor not in anchors(found)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_in_the_text_exists(page: Path) -> None:
    named = re.findall(r"`([\w./-]+)`", page.read_text(encoding="utf-8"))
    paths = {it for it in named if it.startswith(FOLDERS) and "NNNN" not in it} - EXAMPLES
    paths -= {"bench/results/"}  # made by the benchmark
    assert [it for it in sorted(paths) if not (ROOT / it).exists()] == []


def test_every_test_of_a_private_name_exists() -> None:
    page = (ROOT / "docs" / "private-names.md").read_text(encoding="utf-8")
    places = re.findall(r"`(test_\w+)`(?: and `test_\w+`)* in `([\w/]+\.py)`", page)
    assert len(places) > 10
    wrong = [
        (name, path)
        for name, path in places
        if f"def {name}(" not in (ROOT / path).read_text(encoding="utf-8")
    ]
    assert wrong == []


def test_the_readme_lists_every_package_of_the_application() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(app/\w+)/` \|", readme, re.MULTILINE))
    packages = {f"app/{path.parent.name}" for path in (ROOT / "app").glob("*/__init__.py")}
    assert listed == packages


def test_the_page_on_architecture_lists_every_redis_key_and_table() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    texts = [it for it in vars(keys).values() if isinstance(it, str)]
    names = [it for it in texts if re.fullmatch(r"\w+:[\w:]*", it)]
    assert [it for it in names if f"`{it}" not in page] == []
    assert [it for it in metadata.tables if f"`{it}`" not in page] == []


def sources(*folders: str) -> str:
    """The code below some folders."""
    files = (path for it in folders for path in (ROOT / it).rglob("*") if path.suffix in SUFFIXES)
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


SUFFIXES = {".py", ".toml", ".html", ".cfg", ".conf"}


def test_every_name_in_the_guide_for_contributors_is_in_the_code() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)(?:\([^)`]*\))?`", guide)) - EXAMPLE_NAMES
    names = {it for it in named if "_" in it or not it.islower()}
    code = sources("app", "workers", "tests", "config")
    assert [it for it in sorted(names) if not re.search(rf"\b{it}\b", code)] == []


def test_the_guide_for_contributors_names_the_file_of_each_name() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    places = re.findall(r"`(\w+)(?:\([^)`]*\))?`\s+(?:in|of)\s+`([\w/]+\.py)`", guide)
    assert len(places) > 10
    wrong = [
        (name, path)
        for name, path in places
        if not re.search(rf"\b{name}\b", (ROOT / path).read_text(encoding="utf-8"))
    ]
    assert wrong == []


def test_the_samples_are_what_the_commands_print() -> None:
    limits = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    shown = limits.partition("$ tollgate accounts limit acme\n")[2].partition("```")[0].splitlines()
    labels = {re.split(r"  +| per month| month \(", line)[0] for line in shown}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = readme.partition("$ tollgate reconcile\n")[2].partition("```")[0].splitlines()
    labels |= {re.split(r"  +|: \d", line.removeprefix("! "))[0] for line in shown}
    demo = readme.partition("```\nLedger:")[2].partition("\n\n")[0].splitlines()[1:]
    labels |= {re.split(r" /|: |, | demo| of sandbox", line)[0] for line in demo}
    code = sources("app/cli", "app/devstack")
    assert [it for it in sorted(labels) if it not in code] == []
