"""What Bedrock's two APIs share: URLs of models, metadata, token counts, and framing."""

import dataclasses
import json
from typing import Any

import pytest

from app.formats.sse import ServerSentEvent
from app.gateways.bedrock.common import (
    BedrockFraming,
    decode_usage,
    request_metadata,
    vendor_request,
)
from app.gateways.bedrock.converse_response import COUNTS
from app.vocabulary.errors import ModelNotFound, UnsupportedParameter, VendorRateLimited
from tests.gateways.bedrock.rows import request, row
from tests.support.vendors.bedrock import event_frame, exception_frame

PROFILE = "arn:aws:bedrock:eu-west-1:1:application-inference-profile/a1"


def test_a_model_is_one_segment_of_the_path() -> None:
    made = vendor_request(row(), request(PROFILE), "converse", {"a": 1}, dropped=("seed",))
    path = made.url.removeprefix(row().base_url)
    assert path == f"/model/{PROFILE.replace(':', '%3A').replace('/', '%2F')}/converse"
    assert (json.loads(made.body), made.dropped) == ({"a": 1}, ("seed",))


def test_headers_of_the_entry_override_those_of_the_operation() -> None:
    mine = dataclasses.replace(row(), headers={"x-a": "entry"})
    headers = {"x-a": "operation", "x-b": "operation"}
    made = vendor_request(mine, request("m"), "invoke", {}, dropped=(), headers=headers)
    assert made.headers == {"content-type": "application/json", "x-a": "entry", "x-b": "operation"}


@pytest.mark.parametrize("model", ["..", "a b", "a?b", "/a", "a\n", "a" * 2049])
def test_an_invalid_id_is_not_sent(model: str) -> None:
    with pytest.raises(ModelNotFound):
        vendor_request(row(), request(model), "converse", {}, dropped=())


@pytest.mark.parametrize("user", [None, "", "u-1", "A b:_@$#=/+,-.9", "x" * 256])
def test_the_end_user_is_metadata(user: str | None) -> None:
    assert request_metadata(row(), user) == ({} if user is None else {"user": user})


@pytest.mark.parametrize("user", ["x" * 257, "caf\u00e9", "a*b"])
def test_an_end_user_that_bedrock_would_reject_is_refused_by_name(user: str) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        request_metadata(row(), user)
    assert caught.value.param == "user"


@pytest.mark.parametrize("counts", [None, [], 7, {}, {"totalTokens": None}, {"inputTokens": "3"}])
def test_without_a_count_there_is_no_usage(counts: Any) -> None:
    assert decode_usage(counts, COUNTS) is None


@pytest.mark.parametrize(
    ("told", "lacks", "known"),
    [
        ({"inputTokens": 3, "totalTokens": 9}, "", (3, 6, 9)),
        ({"outputTokens": 6, "totalTokens": 9}, "", (3, 6, 9)),
        # of a total that may hold what is cached or not, nothing follows
        ({"inputTokens": 3, "cacheReadInputTokens": 5, "totalTokens": 20}, "completion", (8, 0, 8)),
        (
            {"inputTokens": 3, "cacheWriteInputTokens": 5, "totalTokens": 20},
            "completion",
            (8, 0, 8),
        ),
        ({"inputTokens": 3, "outputTokens": 6, "totalTokens": 99}, "", (3, 6, 9)),
    ],
)
def test_a_total_helps_out_where_it_can_only_mean_one_thing(
    told: dict[str, int], lacks: str, known: tuple[int, int, int]
) -> None:
    found = decode_usage(told, COUNTS)
    assert found is not None
    assert found.lacks == lacks
    assert (found.prompt_tokens, found.completion_tokens, found.total_tokens) == known


def framed(*packets: bytes) -> tuple[list[tuple[str | None, Any]], bool]:
    """Return the names and JSON of all frames, and whether the response is JSON."""
    framing = BedrockFraming(row())
    events: list[ServerSentEvent] = []
    for packet in packets:
        events += framing.feed(packet)
    events += framing.flush()
    return [(event.name, json.loads(event.data)) for event in events], framing.is_json


def test_the_first_byte_tells_messages_from_json() -> None:
    body = event_frame("a", {"n": 1}) + event_frame("b", {})
    messages, is_json = framed(b"", body[:1], body[1:])
    assert [name for name, _ in messages] == ["a", "b"]
    assert not is_json
    assert framed(b"", b'{"n"', b": 1}") == ([(None, {"n": 1})], True)


def test_json_may_be_complete_at_a_bracket() -> None:
    framing = BedrockFraming(row())
    found = []
    for packet in (b'{"n": ', b"{}", b"}"):
        list(framing.feed(packet))
        found.append(framing.is_closed)
    assert found == [False, True, True]


def test_an_exception_is_raised_after_the_messages_before_it() -> None:
    body = event_frame("a", {}) + exception_frame("throttlingException", message="Slow down.")
    events = BedrockFraming(row()).feed(body)
    assert next(events).name == "a"
    with pytest.raises(VendorRateLimited, match="Slow down"):
        next(events)
