"""The open record and its JSON form."""

import json
from typing import Any

import pytest

from app.usage.messages.message import NUMBER_LIMIT, UndecodableMessage
from app.usage.messages.open_record import OpenRecord
from app.vocabulary.text import TEXT_LIMIT
from tests.support.events import open_record

CHECKPOINT = open_record(
    prompt_tokens=9,
    completion_tokens=0,
    cached_tokens=4,
    prompt_source="vendor",
    service_tier="flex",
    attempts=2,
    duration_ms=5000,
)
#: Without these a record is of no use; every version writes them.
REQUIRED = {
    "event_id",
    "request_id",
    "account_id",
    "api_key_id",
    "user",
    "vendor",
    "model",
    "stream",
    "client_retry_count",
    "started_at_ms",
    "owner",
}


CHAT = open_record(endpoint="chat.completions", image_prompt_tokens=5, web_search_calls=2)


@pytest.mark.parametrize("record", [open_record(prompt_chars=41), CHECKPOINT, CHAT])
def test_decode_reads_what_encode_wrote(record: OpenRecord) -> None:
    assert OpenRecord.decode(record.encode()) == record


def test_a_record_always_has_the_fields_that_readers_of_all_versions_need() -> None:
    written = json.loads(open_record(user=None, owner=None, client_retry_count=0).encode())
    assert set(written) == REQUIRED
    assert json.loads(CHECKPOINT.encode())["completion_tokens"] == 0  # not None: it is a count


def test_fields_of_another_version_are_ignored() -> None:
    written = json.loads(open_record().encode()) | {"total_tokens": 13, "region": "eu"}
    assert OpenRecord.decode(json.dumps(written).encode()) == open_record()


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_a_missing_field_is_named(name: str) -> None:
    written = json.loads(open_record().encode())
    del written[name]
    with pytest.raises(UndecodableMessage, match=f"^{name} is missing$"):
        OpenRecord.decode(json.dumps(written).encode())


@pytest.mark.parametrize("name", ["prompt_tokens", "completion_tokens", "prompt_chars"])
@pytest.mark.parametrize("value", ["5", 5.5, True, [], -1, NUMBER_LIMIT + 1])
def test_a_wrong_number_is_rejected_by_name(name: str, value: Any) -> None:
    written = json.loads(open_record().encode()) | {name: value}
    with pytest.raises(UndecodableMessage, match=f"^{name} is of a wrong type or out of range$"):
        OpenRecord.decode(json.dumps(written).encode())


@pytest.mark.parametrize("text", [5, "a\0b", "x" * (TEXT_LIMIT + 1)])
def test_a_wrong_text_is_rejected_by_name(text: Any) -> None:
    written = json.loads(open_record().encode()) | {"model": text}
    with pytest.raises(UndecodableMessage, match=r"^model is of a wrong type or out of range$"):
        OpenRecord.decode(json.dumps(written).encode())


@pytest.mark.parametrize(
    ("raw", "problem"),
    [(b"nonsense", "not JSON"), (b"\xff", "not JSON"), (b"[]", "not a JSON object")],
)
def test_what_is_not_a_json_object_is_rejected(raw: bytes, problem: str) -> None:
    with pytest.raises(UndecodableMessage, match=f"^{problem}$"):
        OpenRecord.decode(raw)
