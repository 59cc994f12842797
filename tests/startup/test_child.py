"""A check in a process of its own: what it imports stays there."""

import logging
import subprocess
import sys

import pytest

from app.settings import ROOT
from app.startup.child import passes_in_child

#: A module that nothing else imports.
SCRIPT = """
import sys
from app.startup.child import passes_in_child
assert passes_in_child(lambda: __import__("wave"))
assert "wave" not in sys.modules
def ends(code):
    raise SystemExit(code)
assert not passes_in_child(lambda: ends(1))
assert not passes_in_child(lambda: 1 / 0)
"""


def test_the_parent_keeps_nothing_and_learns_whether_the_check_passed() -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr.count("the check of the configuration failed") == 1
    assert "ZeroDivisionError" in run.stderr


def test_a_check_that_passes_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        assert passes_in_child(lambda: None)
    assert caplog.records == []
