"""Each wait of the tests and of the benchmark has a limit: one without can hang a whole run."""

import ast
from collections.abc import Iterator
from pathlib import Path

from app.settings import ROOT

WAITS = frozenset({"wait", "join", "communicate"})


def endless_waits(path: Path) -> Iterator[int]:
    """Yield the lines of waits without a limit; asyncio's are not looked at: they are cancelled."""
    tree = ast.parse(path.read_text())
    bounded = {
        argument
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "asyncio.wait_for"
        for argument in call.args
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in WAITS and not node.args and not node.keywords:
                yield from [] if node in bounded else [node.lineno]
        elif isinstance(node, ast.With):
            yield from (node.lineno for it in node.items if _is_process(it.context_expr))


def _is_process(expression: ast.expr) -> bool:
    """Whether leaving a `with` of this waits for a process, however long it takes."""
    return isinstance(expression, ast.Call) and ast.unparse(expression.func) == "subprocess.Popen"


def test_no_wait_is_without_a_limit() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder in ("tests", "bench")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "node_modules" not in path.parts
        for line in endless_waits(path)
    ]
    # It kills the reader before it leaves the block.
    assert [it for it in found if not it.startswith("bench/stage.py")] == []
