"""The knobs in a model's name."""

import pytest

from app.sandbox.errors import SandboxError
from app.sandbox.knobs import RANGES, Knobs, parse_model


def test_a_model_without_knobs_has_the_defaults() -> None:
    assert parse_model("echo") == parse_model("echo?") == Knobs()


def test_each_knob_is_read() -> None:
    model = "echo?words=5&delay_ms=1.5&hang_s=0.5&status=429&fail_first=1&retry_after=3&cut_after=2"
    assert parse_model(model) == Knobs(
        words=5,
        delay_ms=1.5,
        hang_s=0.5,
        status=429,
        fail_first=1,
        retry_after=3,
        cut_after=2,
    )


def test_a_pause_before_a_retry_needs_a_failure() -> None:
    assert parse_model("echo?fail_first=1&retry_after=3") == Knobs(fail_first=1, retry_after=3)


@pytest.mark.parametrize("knob", RANGES)
def test_bounds_are_inclusive(knob: str) -> None:
    _, lowest, highest = RANGES[knob]
    more = "&status=500" if knob == "retry_after" else ""
    for value in (lowest, highest):
        parse_model(f"echo?{knob}={value}{more}")
    for value in (lowest - 1, highest + 1):
        with pytest.raises(SandboxError, match=f"`{knob}` must be"):
            parse_model(f"echo?{knob}={value}{more}")


@pytest.mark.parametrize(
    ("model", "status", "message"),
    [
        ("gpt-4o", 404, "has only `echo`"),
        ("echo?colour=1", 400, "Its parameters are words"),
        ("echo?words=1&words=1", 400, "set twice"),
        ("echo?words=1.5", 400, "a whole number from 0 to 10000, not '1.5'"),
        ("echo?words=", 400, "a whole number"),
        ("echo?delay_ms=nan", 400, "a number"),
        ("echo?retry_after=1", 400, "needs `status`"),
    ],
)
def test_a_wrong_model_or_knob_is_named(model: str, status: int, message: str) -> None:
    with pytest.raises(SandboxError, match=message) as caught:
        parse_model(model)
    assert (caught.value.status, caught.value.param) == (status, "model")
