"""The events of crashed processes' open records."""

from typing import Any

import pytest

from app.usage.open_record import OpenRecord
from tests.support.events import open_record
from workers.reaper import abandoned


def record(**changes: Any) -> OpenRecord:
    """A record of a crashed process, before its first checkpoint."""
    return open_record(**{"owner": "a crashed process", "prompt_chars": 41} | changes)


def test_before_a_checkpoint_the_prompt_is_estimated_by_its_length() -> None:
    event = abandoned(record())
    assert (event.status, event.source, event.prompt_tokens, event.total_tokens) == (
        "abandoned",
        "estimated",
        11,
        11,
    )
    assert (event.prompt_source, event.completion_source) == ("estimated", "estimated")


def test_what_the_vendor_has_counted_stays_the_vendors_and_the_rest_is_estimated() -> None:
    """Anthropic reports the prompt first; Tollgate counts the text that came since."""
    told = {
        "prompt_tokens": 2010,
        "cached_tokens": 2000,
        "cache_write_tokens": 5,
        "completion_tokens": 7,
        "prompt_source": "vendor",
        "completion_source": "estimated",
        "service_tier": "priority",
    }
    event = abandoned(record(**told))
    assert (event.prompt_tokens, event.cached_tokens, event.cache_write_tokens) == (2010, 2000, 5)
    assert (event.completion_tokens, event.total_tokens) == (7, 2017)
    assert (event.prompt_source, event.completion_source) == ("vendor", "estimated")
    assert (event.source, event.service_tier) == ("estimated", "priority")


def test_a_request_whose_both_sides_the_vendor_has_counted_is_no_estimate() -> None:
    sides = {"prompt_source": "vendor", "completion_source": "vendor"}
    event = abandoned(record(**sides, prompt_tokens=3, completion_tokens=0))
    assert (event.source, event.total_tokens) == ("vendor", 3)


def test_sides_of_a_checkpoint_without_sources_are_estimates() -> None:
    event = abandoned(record(prompt_tokens=9, completion_tokens=4, attempts=1))
    assert (event.prompt_tokens, event.completion_tokens, event.source) == (9, 4, "estimated")
    assert (event.prompt_source, event.completion_source) == ("estimated", "estimated")


@pytest.mark.parametrize("source", ["none", "estimated", "later_word"])
def test_a_side_is_the_vendors_only_if_the_record_says_so(source: str) -> None:
    event = abandoned(record(prompt_tokens=9, prompt_source=source))
    assert event.prompt_source == "estimated"
    without_tokens = abandoned(record(prompt_source="vendor"))
    assert (without_tokens.prompt_source, without_tokens.prompt_tokens) == ("estimated", 11)
