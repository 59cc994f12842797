"""The event and its wire form."""

import json
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.usage.messages.call_attempt import CallAttempt
from app.usage.messages.call_usage import CallUsage
from app.usage.messages.event import FORMER_SOURCES, SIDE_SOURCES, SOURCES, UsageEvent
from app.usage.messages.message import NUMBER_LIMIT, UndecodableMessage
from app.usage.messages.stored_text import clip, cut_or_none
from app.vocabulary.completion import USAGE_COUNTS, Usage
from app.vocabulary.statuses import STATUSES
from app.vocabulary.text import SENTENCE_LIMIT, TEXT_LIMIT
from tests.support.events import DEFAULTS, usage_event

NULLABLE = {
    "user",
    "vendor_served",
    "model_served",
    "service_tier",
    "vendor_request_id",
    "http_status",
    "first_token_ms",
    "error_code",
    "error_message",
    "process",
}
NUMBERS = {name for name, value in DEFAULTS.items() if type(value) is int}
WORDS = {
    "status": STATUSES,
    "source": SOURCES,
    "prompt_source": SIDE_SOURCES,
    "completion_source": SIDE_SOURCES,
}
TEXTS = set(DEFAULTS) - NUMBERS - set(WORDS) - {
    "stream",
    "calls",
    "attempt_log",
    "error_message",
} | {"event_id"}
#: What the version before does not write, and what is taken for it.
LATER = {
    "prompt_source",
    "completion_source",
    "service_tier",
    "error_code",
    "error_message",
    "calls",
    "attempt_log",
    "process",
    "number",
    "endpoint",
    "image_prompt_tokens",
    "image_completion_tokens",
    "cache_write_1h_tokens",
    "web_search_calls",
}
FLAT = {name for name in DEFAULTS if name not in ("calls", "attempt_log")}


#: The last millisecond that an event may have started in: it is before 9999-12-30.
LAST_MS = 253_402_127_999_999


def calls(texts: st.SearchStrategy[str]) -> st.SearchStrategy[CallUsage]:
    """Calls whose texts are drawn from `texts`."""
    counts = dict.fromkeys(USAGE_COUNTS, st.integers(0, NUMBER_LIMIT))
    told = st.none() | texts
    return st.builds(CallUsage.of, texts, texts, told, told, st.builds(Usage, **counts))


def attempts(texts: st.SearchStrategy[str]) -> st.SearchStrategy[CallAttempt]:
    """Attempts whose texts are drawn from `texts`."""
    number, told = st.integers(0, NUMBER_LIMIT), st.none() | texts
    return st.builds(
        CallAttempt, texts, texts, number, number, st.none() | number, told, told, told
    )


def field_values(name: str, texts: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """What `name` may hold."""
    values: st.SearchStrategy[Any] = texts
    if name in NUMBERS:
        values = st.integers(0, LAST_MS if name == "started_at_ms" else NUMBER_LIMIT)
    elif name == "stream":
        values = st.booleans()
    elif name == "calls":
        values = st.lists(calls(texts), max_size=3).map(tuple)
    elif name == "attempt_log":
        values = st.lists(attempts(texts), max_size=3).map(tuple)
    elif name in WORDS:
        values = st.sampled_from(sorted(WORDS[name]))
    return st.none() | values if name in NULLABLE else values


def events(texts: st.SearchStrategy[str]) -> st.SearchStrategy[UsageEvent]:
    """Events whose texts are drawn from `texts`."""
    values = {name: field_values(name, texts) for name in ("event_id", *DEFAULTS)}
    return st.builds(UsageEvent, **values)


LEDGER_TEXT = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=TEXT_LIMIT)
ANY_TEXT = st.text(st.characters(), max_size=2 * TEXT_LIMIT)


@given(events(LEDGER_TEXT))
def test_decode_reads_what_encode_wrote(event: UsageEvent) -> None:
    assert UsageEvent.decode(event.encode()) == event


@given(events(ANY_TEXT))
def test_whatever_callers_and_vendors_write_is_encoded_so_that_it_decodes(
    event: UsageEvent,
) -> None:
    decoded = UsageEvent.decode(event.encode())
    assert decoded.usage == event.usage
    for name in TEXTS:
        text = getattr(event, name)
        assert getattr(decoded, name) == (None if text is None else clip(text))
    for told, call in zip(decoded.calls, event.calls, strict=True):
        assert told == call.sanitized()
        assert told.usage == call.usage
    assert decoded.error_message == cut_or_none(event.error_message)
    assert decoded.attempt_log == tuple(it.sanitized() for it in event.attempt_log)


def test_the_wire_form_is_one_json_object_in_field_order() -> None:
    event = usage_event(event_id="e", user="Zoë")
    raw = event.encode()
    written = json.loads(raw)
    assert list(written) == [name for name in UsageEvent.__struct_fields__ if name in written]
    optional = LATER - {"prompt_source", "completion_source", "service_tier"}
    given = {name: value for name, value in DEFAULTS.items() if name not in optional}
    assert written == given | {"event_id": "e", "user": "Zoë"}
    assert UsageEvent.decode(raw) == event


@pytest.mark.parametrize(
    ("source", "side"),
    [
        ("vendor", "vendor"),
        ("drained", "vendor"),
        ("read", "vendor"),
        ("estimated", "estimated"),
        ("none", "none"),
    ],
)
def test_an_event_of_the_version_before_is_read(source: str, side: str) -> None:
    written = json.loads(usage_event(event_id="e", source=source).encode())
    before = {name: value for name, value in written.items() if name not in LATER}
    event = UsageEvent.decode(json.dumps(before).encode())
    changes = {"prompt_source": side, "completion_source": side}
    source = FORMER_SOURCES.get(source, source)
    assert event == usage_event(event_id="e", source=source, **changes)


def test_counts_of_nothing_and_the_first_endpoint_are_not_written() -> None:
    chat = usage_event(event_id="e", endpoint="chat.completions", web_search_calls=2)
    assert b'"endpoint":"chat.completions"' in chat.encode()
    assert b'"web_search_calls":2' in chat.encode()
    assert UsageEvent.decode(chat.encode()) == chat
    raw = usage_event().encode()
    assert not any(name.encode() in raw for name in ("endpoint", "image", "web_search", "_1h"))


def test_all_fields_are_shown_with_those_that_are_not_written() -> None:
    shown = usage_event(event_id="e").as_json()
    assert shown == DEFAULTS | {"event_id": "e", "calls": [], "attempt_log": []}


def test_searches_without_tokens_are_not_nothing() -> None:
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    assert usage_event(**nothing).is_empty
    assert not usage_event(**nothing, web_search_calls=1).is_empty


def test_a_former_word_for_a_source_means_the_present_one() -> None:
    former = usage_event(event_id="e", source="drained")
    assert UsageEvent.decode(former.encode()) == usage_event(event_id="e", source="read")


#: What the version before asks of an event: each of these is there, of the same type as ever.
ASKED_BEFORE = {"event_id", *DEFAULTS} - LATER


def test_the_version_before_finds_all_that_it_asks_for() -> None:
    calls = (CallUsage.of("v", "m", None, None, Usage(prompt_tokens=1)),)
    event = usage_event(event_id="e", calls=calls, prompt_source="estimated")
    written = json.loads(event.encode())
    assert written.keys() >= ASKED_BEFORE
    assert {name: written[name] for name in ASKED_BEFORE - {"event_id"}} == {
        name: DEFAULTS[name] for name in ASKED_BEFORE - {"event_id"}
    }


def test_a_word_of_a_later_version_is_accepted_and_stays() -> None:
    later = dict.fromkeys(WORDS, "sampled_by_somebody")
    raw = json.dumps(json.loads(usage_event(event_id="e").encode()) | later).encode()
    event = UsageEvent.decode(raw)
    assert event == usage_event(event_id="e", **later)
    assert UsageEvent.decode(event.encode()) == event


def test_what_a_later_version_says_of_a_call_beyond_this_one_is_left_out() -> None:
    call = {"vendor": "v", "model": "m", "prompt_tokens": 3, "total_tokens": 3, "region": "eu"}
    raw = json.dumps(json.loads(usage_event().encode()) | {"calls": [call]}).encode()
    usage = Usage(prompt_tokens=3, total_tokens=3)
    assert UsageEvent.decode(raw).calls == (CallUsage.of("v", "m", None, None, usage),)


@pytest.mark.parametrize(
    "calls",
    [
        5,
        "x",
        {"vendor": "v"},
        [5],
        [{"vendor": "v"}],
        [{"vendor": "v", "model": 5}],
        [{"vendor": "v", "model": "m", "prompt_tokens": -1}],
        [{"vendor": "v", "model": "m", "service_tier": ["flex"]}],
    ],
)
def test_invalid_calls_are_rejected(calls: Any) -> None:
    raw = json.dumps(json.loads(usage_event().encode()) | {"calls": calls}).encode()
    with pytest.raises(UndecodableMessage, match=r"^calls is of a wrong type or out of range$"):
        UsageEvent.decode(raw)


@pytest.mark.parametrize(
    "attempts",
    [5, [5], [{"vendor": "v"}], [{"vendor": "v", "model": "m", "http_status": "x"}]],
)
def test_invalid_attempts_are_rejected(attempts: Any) -> None:
    raw = json.dumps(json.loads(usage_event().encode()) | {"attempt_log": attempts}).encode()
    with pytest.raises(UndecodableMessage, match=r"^attempt_log is of a wrong type"):
        UsageEvent.decode(raw)


def test_a_field_of_a_later_version_is_left_out() -> None:
    event = usage_event()
    raw = json.dumps(json.loads(event.encode()) | {"cost_nano_usd": 7}).encode()
    assert UsageEvent.decode(raw) == event


@pytest.mark.parametrize("name", sorted({"event_id", *DEFAULTS} - LATER))
def test_a_missing_field_is_named(name: str) -> None:
    written = json.loads(usage_event().encode())
    del written[name]
    with pytest.raises(UndecodableMessage, match=f"^{name} is missing$"):
        UsageEvent.decode(json.dumps(written).encode())


WRONG: dict[str, list[Any]] = {
    "number": ["5", 5.0, True, -1, NUMBER_LIMIT + 1, 2**63, 2**200, [], {}],
    "text": [5, True, [], "a\0b", "x" * (TEXT_LIMIT + 1)],
    "error_message": [5, True, [], "a\0b", "x" * (SENTENCE_LIMIT + 1)],
    "stream": [None, 0, 1, "true"],
    "word": [None, 5, [], "", "Not one word", "x" * 65],
}


def wrong_values() -> list[tuple[str, Any]]:
    """Each field with each kind of value that it may not hold."""
    cases = []
    for name in ("event_id", *sorted(FLAT)):
        kind = "number" if name in NUMBERS else "text" if name in TEXTS else name
        kind = "word" if name in WORDS else kind
        cases += [(name, value) for value in WRONG[kind]]
        if name not in NULLABLE and kind in ("number", "text"):
            cases.append((name, None))
    return cases


@pytest.mark.parametrize(("name", "value"), wrong_values())
def test_a_wrong_value_is_rejected_by_name_and_not_quoted(name: str, value: Any) -> None:
    written = json.loads(usage_event().encode()) | {name: value}
    with pytest.raises(UndecodableMessage) as refusal:
        UsageEvent.decode(json.dumps(written).encode())
    assert str(refusal.value) == f"{name} is of a wrong type or out of range"


def test_a_time_that_not_every_time_zone_can_show_is_rejected() -> None:
    event = usage_event(started_at_ms=LAST_MS)
    assert UsageEvent.decode(event.encode()) == event
    assert datetime.fromtimestamp(LAST_MS / 1000, ZoneInfo("Pacific/Kiritimati"))
    with pytest.raises(UndecodableMessage, match=r"^started_at_ms is .* out of range$"):
        UsageEvent.decode(usage_event(started_at_ms=LAST_MS + 1).encode())


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"\xff\xfe", b"nul", b'{"a": NaN}', b"[" * 100_000, b"\0", b"{}x"]
)
def test_what_is_not_json_is_rejected(raw: bytes) -> None:
    with pytest.raises(UndecodableMessage, match=r"^not JSON$"):
        UsageEvent.decode(raw)


@pytest.mark.parametrize("raw", [b"[]", b"null", b'"x"', b"5", b"true"])
def test_json_that_is_not_an_object_is_rejected(raw: bytes) -> None:
    with pytest.raises(UndecodableMessage, match=r"^not a JSON object$"):
        UsageEvent.decode(raw)


@given(st.binary(max_size=200))
def test_random_bytes_are_rejected(raw: bytes) -> None:
    with pytest.raises(UndecodableMessage):
        UsageEvent.decode(raw)


def test_a_count_that_no_ledger_can_store_is_encoded_and_then_rejected() -> None:
    raw = usage_event(completion_tokens=10**30).encode()
    with pytest.raises(UndecodableMessage, match="completion_tokens"):
        UsageEvent.decode(raw)


def test_a_user_of_100_kb_is_clipped_and_stays_distinct() -> None:
    users = ["x" * 100_000 + tail for tail in "ab"]
    kept = [UsageEvent.decode(usage_event(user=user).encode()).user for user in users]
    assert all(text and len(text) == TEXT_LIMIT and text.startswith("xxx") for text in kept)
    assert kept[0] != kept[1]
