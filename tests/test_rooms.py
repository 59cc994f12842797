"""The plan of the house: rooms, their descriptions, sizes, circles, and a test file per module."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import get_type_hints

import grimp
import pytest

from app.container import Services

ROOT = Path(__file__).parents[1]
PACKAGES = ("app", "workers")

LINES_OF_A_MODULE = 250
LINES_OF_A_FUNCTION = 30
MODULES_IN_THE_HALL = 5

#: Functions that may be longer, each with its reason.
LONG_FUNCTIONS: dict[str, str] = {}

#: Modules whose tests are in a file with another name.
COVERED_BY: dict[str, str] = {}

_README_LINE = re.compile(r"^(?:- |\| )?`(app/[\w/.]+)`", re.MULTILINE)
_BRANCHES = (ast.If, ast.For, ast.While, ast.Try, ast.Match)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules() -> list[Path]:
    """Return the modules of the application and of its workers, relative to the root."""
    return sorted(
        path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py")
    )


def rooms() -> list[Path]:
    """Return the packages directly below `app/`."""
    return sorted(path.parent.relative_to(ROOT) for path in (ROOT / "app").glob("*/__init__.py"))


@cache
def tree(path: Path) -> ast.Module:
    """Return a module's syntax tree."""
    return ast.parse((ROOT / path).read_text())


def functions(path: Path) -> Iterator[Function]:
    """Yield a module's functions and methods."""
    for node in ast.walk(tree(path)):
        if isinstance(node, Function):
            yield node


def test_readme_has_one_line_for_each_room() -> None:
    found = [line.rstrip("/") for line in _README_LINE.findall((ROOT / "README.md").read_text())]
    listed = sorted(path for path in found if not path.endswith(".py"))
    assert listed == [str(room) for room in rooms()]
    assert [path for path in found if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("room", rooms(), ids=str)
def test_a_room_says_what_it_owns_and_what_to_read_first(room: Path) -> None:
    docstring = ast.get_docstring(tree(room / "__init__.py")) or ""
    assert len([line for line in docstring.splitlines() if line.strip()]) >= 2


def test_the_hall_holds_few_modules() -> None:
    hall = [path for path in modules() if path.parent == Path("app")]
    named = [path.name for path in hall if path.name != "__init__.py"]
    assert len(named) <= MODULES_IN_THE_HALL, named


def test_no_module_is_long() -> None:
    lengths = {str(path): len((ROOT / path).read_text().splitlines()) for path in modules()}
    assert {path: n for path, n in lengths.items() if n > LINES_OF_A_MODULE} == {}


def test_no_function_is_long() -> None:
    long = {
        f"{path}:{function.name}"
        for path in modules()
        for function in functions(path)
        if (function.end_lineno or 0) - function.lineno >= LINES_OF_A_FUNCTION
    }
    assert long == set(LONG_FUNCTIONS)


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=True)
    left = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    while free := {module for module, imported in left.items() if not imported & left.keys()}:
        left = {module: imported for module, imported in left.items() if module not in free}
    # What is left is in a circle, or imports what is; the latter goes.
    while unused := {m for m in left if not any(m in imported for imported in left.values())}:
        left = {module: imported for module, imported in left.items() if module not in unused}
    assert sorted(left) == []


def test_views_construct_neither_stores_nor_readers_nor_clients() -> None:
    """They get them from the container; the factory makes them."""
    made_once = {of.__name__ for of in get_type_hints(Services).values()}
    calls = {
        f"{path}: {node.func.id}"
        for path in modules()
        if path.parts[:2] in {("app", "api"), ("app", "dashboard")}
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id in made_once
    }
    assert calls == set()


def own_tests(path: Path) -> list[str]:
    """Return the test files that may be a module's own: in its folder's place, or its room's."""
    folder = Path(*path.parts[1:-1]) if path.parts[0] == "app" else path.parent
    name = f"test_{path.stem}.py" if path.name != "__init__.py" else f"test_{path.parent.name}.py"
    places = {Path("tests") / folder / name, Path("tests", *folder.parts[:1]) / name}
    return sorted(map(str, places))


def has_branches(path: Path) -> bool:
    """Whether a module decides anything."""
    return any(
        isinstance(node, _BRANCHES) for function in functions(path) for node in ast.walk(function)
    )


def test_each_module_that_decides_has_a_test_file_of_its_name() -> None:
    without = {
        str(path)
        for path in modules()
        if has_branches(path) and not any((ROOT / own).exists() for own in own_tests(path))
    }
    assert without == set(COVERED_BY)
    assert [test for test in COVERED_BY.values() if not (ROOT / test).exists()] == []
