"""Completions, chunks and usage as JSON."""

from app.api.schemas.completion import (
    dump_chunk,
    dump_completion,
    dump_usage,
)
from app.vocabulary.completion import Choice, Completion, Usage

USAGE = Usage(
    prompt_tokens=10,
    completion_tokens=20,
    total_tokens=31,
    cached_tokens=4,
    reasoning_tokens=5,
    audio_prompt_tokens=6,
    audio_completion_tokens=7,
    accepted_prediction_tokens=8,
    rejected_prediction_tokens=9,
)


COMPLETION = Completion(
    id="cmpl-1",
    created=1_790_000_000,
    model="m-2026",
    choices=(Choice(0, "a", "stop"), Choice(1, "b", None, {"tokens": ["b"]})),
    usage=USAGE,
    system_fingerprint="fp",
)


def test_a_completion_is_a_text_completion_object() -> None:
    assert dump_completion(COMPLETION) == {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 1_790_000_000,
        "model": "m-2026",
        "system_fingerprint": "fp",
        "choices": [
            {"index": 0, "text": "a", "logprobs": None, "finish_reason": "stop"},
            {"index": 1, "text": "b", "logprobs": {"tokens": ["b"]}, "finish_reason": None},
        ],
        "usage": dump_usage(USAGE),
    }


def test_what_is_not_known_is_left_out_and_a_chunk_has_no_usage() -> None:
    bare = COMPLETION._replace(usage=None, system_fingerprint=None)
    assert set(dump_completion(bare)) == {"id", "object", "created", "model", "choices"}
    assert set(dump_chunk(COMPLETION)) == set(dump_completion(COMPLETION)) - {"usage"}


def test_usage_has_every_detail_of_the_contract() -> None:
    assert dump_usage(USAGE) == {
        "prompt_tokens": 10,
        "completion_tokens": 20,
        "total_tokens": 31,
        "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 6},
        "completion_tokens_details": {
            "reasoning_tokens": 5,
            "audio_tokens": 7,
            "accepted_prediction_tokens": 8,
            "rejected_prediction_tokens": 9,
        },
    }
