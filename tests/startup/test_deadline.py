"""Checks that run in the background, with a limit."""

import threading

import pytest

from app.startup.deadline import Check


def test_a_check_has_its_result_or_its_error() -> None:
    assert Check(lambda: "well", 60).result() == "well"
    with pytest.raises(ZeroDivisionError):
        Check(lambda: 1 // 0, 60).result()


def test_a_check_that_hangs_is_not_waited_for() -> None:
    end = threading.Event()
    check = Check(lambda: end.wait(60), 0.01)
    with pytest.raises(TimeoutError):
        check.result()
    end.set()
