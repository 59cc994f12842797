"""The tests' own tracing: a thread begins, whoever else begins at the same time."""

from typing import Any

import pytest

from tests.support.measured import patient

MEETS = "Cannot install a trace function while another trace function is being installed"


def test_a_thread_that_meets_another_one_tries_again() -> None:
    answers, given = [RuntimeError(MEETS), RuntimeError(MEETS)], []

    def settrace(function: Any) -> None:
        if answers:
            raise answers.pop()
        given.append(function)

    patient(settrace)(print)
    assert given == [print]


def test_another_refusal_is_not_hidden() -> None:
    def settrace(_: Any) -> None:
        raise RuntimeError("no memory")

    with pytest.raises(RuntimeError, match="no memory"):
        patient(settrace)(None)
