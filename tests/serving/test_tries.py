"""How often the vendors were tried, in words for the caller."""

import pytest

from app.serving.tries import note_tries
from app.vocabulary.errors import GatewayError, ShuttingDown, VendorFailed, VendorRejected


def message(error: GatewayError, calls: dict[str, int]) -> str:
    """Return the message of the error's body."""
    note_tries(error, calls)
    text: str = error.body()["error"]["message"]
    return text


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ({"sim": 1}, "It broke. Tollgate tried once."),
        ({"sim": 2}, "It broke. Tollgate tried twice."),
        ({"sim": 3}, "It broke. Tollgate tried 3 times."),
        ({"a": 3, "b": 1}, "It broke. Tollgate tried `a` 3 times and `b` once."),
        ({"a": 1, "b": 1, "c": 2}, "It broke. Tollgate tried `a` once, `b` once and `c` twice."),
        ({"sim": 0}, "It broke"),
    ],
)
def test_the_body_states_the_tries(calls: dict[str, int], said: str) -> None:
    assert message(VendorFailed("It broke"), calls) == said


def test_the_ledger_gets_the_message_without_them() -> None:
    error = VendorFailed("It broke.")
    note_tries(error, {"sim": 2})
    assert error.message == "It broke."


def test_what_another_try_would_not_change_states_only_several_vendors() -> None:
    rejected = VendorRejected("Too long.", vendor_status=400)
    assert message(rejected, {"sim": 3}) == "Too long."
    assert message(rejected, {"a": 1, "b": 1}) == "Too long. Tollgate tried `a` once and `b` once."
    assert "tried" not in message(ShuttingDown(), {"sim": 1})
