"""The judge itself: what it takes for wrong, so that a good verdict says something."""

from typing import Any

import pytest

from app.usage.metering.estimate import count_tokens
from tests.chaos.load import Asked
from tests.chaos.served import Call
from tests.chaos.verdict import of_an_answer, of_an_estimate, of_no_call

WORDS = [" the", " of", " and", " to"]
CALL = Call("t1", "t1 and so on and so on", WORDS, sent=3)
PROMPT, SENT = count_tokens(CALL.prompt), 3


def row(status: str, source: str, prompt: int, completion: int, attempts: int = 1) -> Any:
    tokens = {"prompt_tokens": prompt, "completion_tokens": completion}
    total = prompt + completion
    head = {"status": status, "source": source, "total_tokens": total, "attempts": attempts}
    return head | tokens


@pytest.mark.parametrize(
    ("entry", "is_right"),
    [
        (row("failed", "none", 0, 0), True),
        (row("disconnected", "none", 0, 0), True),
        (row("abandoned", "estimated", 6, 0), True),
        (row("abandoned", "estimated", 6, 1), False),
        (row("abandoned", "vendor", 6, 0), False),
        (row("failed", "estimated", 6, 0), False),
        (row("failed", "vendor", 6, 3), False),
        (row("failed", "none", 6, 0), False),
        (row("completed", "none", 0, 0), False),
        (row("truncated", "none", 0, 0), False),
    ],
)
def test_a_request_that_never_reached_the_vendor_has_used_nothing(
    entry: Any, is_right: bool
) -> None:
    assert (list(of_no_call(entry)) == []) is is_right


@pytest.mark.parametrize(
    ("entry", "is_right"),
    [
        (row("truncated", "estimated", PROMPT, SENT), True),
        (row("truncated", "estimated", PROMPT, SENT - 1), True),
        (row("truncated", "estimated", PROMPT, SENT + 1), False),
        (row("truncated", "estimated", PROMPT + 1, SENT), False),
        (row("disconnected", "estimated", PROMPT, SENT + 1), False),
        (row("abandoned", "estimated", -(-len(CALL.prompt) // 4), 0), True),
        (row("abandoned", "estimated", PROMPT, SENT), True),
        (row("abandoned", "estimated", PROMPT, 0, attempts=0), True),
        (row("abandoned", "estimated", PROMPT * 2, 0), False),
        (row("abandoned", "estimated", PROMPT * 2, 0, attempts=2), True),
        (row("truncated", "estimated", PROMPT * 2, 0, attempts=2), False),
        (row("completed", "estimated", PROMPT, SENT), False),
    ],
)
def test_an_estimate_is_of_the_prompt_and_of_what_was_sent_at_most(
    entry: Any, is_right: bool
) -> None:
    assert (list(of_an_estimate([CALL], entry)) == []) is is_right


@pytest.mark.parametrize(
    ("status", "counted", "is_right"),
    [
        ("truncated", 3, True),
        ("truncated", 2, False),
        ("disconnected", 2, False),
        ("abandoned", 0, True),
    ],
)
def test_nobody_has_more_of_an_answer_than_was_counted(
    status: str, counted: int, is_right: bool
) -> None:
    asked = Asked("t1", "acme", "cut", "".join(WORDS[:3]))
    entry: Any = {**row(status, "estimated", PROMPT, counted), "account_id": "acme"}
    assert (of_an_answer(asked, [CALL], [entry]) == []) is is_right
