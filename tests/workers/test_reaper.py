"""Open records of dead processes: what their events say."""

from typing import Any

import pytest

from app.usage.event import UndecodableEvent
from tests.support.events import DEFAULTS
from workers.reaper import abandoned

OPENING: dict[str, Any] = {
    "event_id": "e1",
    "owner": "a process that is gone",
    "prompt_chars": 41,
    **{name: DEFAULTS[name] for name in ("request_id", "account_id", "api_key_id", "user")},
    **{name: DEFAULTS[name] for name in ("vendor", "model", "stream", "client_retry_count")},
    "started_at_ms": DEFAULTS["started_at_ms"],
}


def test_before_a_checkpoint_the_prompt_is_estimated_by_its_length() -> None:
    event = abandoned(OPENING)
    assert (event.status, event.source, event.prompt_tokens, event.total_tokens) == (
        "abandoned",
        "estimated",
        11,
        11,
    )
    assert (event.prompt_source, event.completion_source) == ("estimated", "estimated")


def test_what_the_vendor_has_counted_stays_the_vendors_and_the_rest_is_estimated() -> None:
    """Anthropic tells the prompt first; the text that came since is counted by us."""
    told = {
        "prompt_tokens": 2010,
        "cached_tokens": 2000,
        "cache_write_tokens": 5,
        "completion_tokens": 7,
        "prompt_source": "vendor",
        "completion_source": "estimated",
        "service_tier": "priority",
        "vendor_served": "anthropic",
    }
    event = abandoned(OPENING | told)
    assert (event.prompt_tokens, event.cached_tokens, event.cache_write_tokens) == (2010, 2000, 5)
    assert (event.completion_tokens, event.total_tokens) == (7, 2017)
    assert (event.prompt_source, event.completion_source) == ("vendor", "estimated")
    assert (event.source, event.service_tier) == ("estimated", "priority")
    assert event.vendor_served == "anthropic"


def test_a_request_whose_both_sides_the_vendor_has_counted_is_no_estimate() -> None:
    sides = {"prompt_source": "vendor", "completion_source": "vendor"}
    event = abandoned(OPENING | sides | {"prompt_tokens": 3, "completion_tokens": 0})
    assert (event.source, event.total_tokens) == ("vendor", 3)


def test_a_record_of_the_version_before_is_read() -> None:
    event = abandoned(OPENING | {"prompt_tokens": 9, "completion_tokens": 4, "attempts": 1})
    assert (event.prompt_tokens, event.completion_tokens, event.source) == (9, 4, "estimated")
    assert (event.prompt_source, event.completion_source) == ("estimated", "estimated")


@pytest.mark.parametrize("source", [None, "none", "estimated", 5, ["vendor"]])
def test_no_side_is_the_vendors_but_by_its_word(source: object) -> None:
    event = abandoned(OPENING | {"prompt_tokens": 9, "prompt_source": source})
    assert event.prompt_source == "estimated"
    without_tokens = abandoned(OPENING | {"prompt_source": "vendor"})
    assert (without_tokens.prompt_source, without_tokens.prompt_tokens) == ("estimated", 11)


@pytest.mark.parametrize("name", ["prompt_tokens", "completion_tokens", "prompt_chars"])
@pytest.mark.parametrize("value", ["5", 5.5, True, [], -1, 2**60])
def test_a_record_that_is_nonsense_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(UndecodableEvent, match=name):
        abandoned(OPENING | {name: value})
