"""Whole chat completions as JSON."""

from dataclasses import replace
from typing import Any

import openai.types.chat
import pytest

from app.api.schemas.chat.dump import dump_chat_completion, dump_chat_usage
from app.vocabulary.chat.reply import Reply
from app.vocabulary.chat.tools import ToolCall
from app.vocabulary.completion import Choice, Completion, Usage

USAGE = Usage(
    prompt_tokens=10,
    completion_tokens=20,
    total_tokens=30,
    cached_tokens=4,
    cache_write_tokens=3,
    reasoning_tokens=5,
)
COMPLETION = Completion("chatcmpl-1", 1_790_000_000, "m-2026", (Choice(0, "a", "stop"),), USAGE)
CALL = ToolCall(0, "c1", "f", '{"a": 1}')


def message_of(text: str, reply: Reply | None = None) -> dict[str, Any]:
    """Return the message of a choice; OpenAI's client must read all of it."""
    choice = Choice(0, text, "stop", None, None, None, reply)
    body = dump_chat_completion(COMPLETION._replace(choices=(choice,)))
    openai.types.chat.ChatCompletion.model_validate(body, strict=True)
    message: dict[str, Any] = body["choices"][0]["message"]
    return message


def test_a_completion_is_a_chat_completion_object() -> None:
    assert dump_chat_completion(COMPLETION) == {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": "m-2026",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "a", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": dump_chat_usage(USAGE),
    }


def test_what_only_the_vendor_knows_is_kept_at_its_level_and_overrides_nothing() -> None:
    reply = Reply(extra={"annotations": [], "role": "model", "content": "z"})
    choice = Choice(
        0, "a", "length", {"content": []}, "max_len", {"matched_stop": 7, "index": 9}, reply
    )
    body = dump_chat_completion(
        COMPLETION._replace(
            choices=(choice,),
            usage=None,
            system_fingerprint="fp",
            service_tier="flex",
            extra={"citations": ["u"], "id": "z", "choices": 1},
        )
    )
    assert body == {
        "citations": ["u"],
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": "m-2026",
        "system_fingerprint": "fp",
        "service_tier": "flex",
        "choices": [
            {
                "matched_stop": 7,
                "index": 0,
                "message": {
                    "annotations": [],
                    "role": "assistant",
                    "content": "a",
                    "refusal": None,
                },
                "logprobs": {"content": [], "refusal": None},
                "finish_reason": "length",
                "native_finish_reason": "max_len",
            }
        ],
    }


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("auto", {"service_tier": "auto"}),
        ("priority", {"service_tier": "priority"}),
        ("standard", {"service_tier": "default"}),  # Anthropic
        ("on_demand", {"service_tier": "default"}),  # Groq
        ("ON_DEMAND_FLEX", {"service_tier": "flex"}),  # Vertex AI
        ("", {"service_tier": "default"}),
        ("provisioned", {"native_service_tier": "provisioned"}),
        ("batch", {"native_service_tier": "batch"}),
        (None, {}),
    ],
)
def test_a_tier_is_one_of_the_contracts(word: str | None, told: dict[str, str]) -> None:
    body = dump_chat_completion(COMPLETION._replace(service_tier=word))
    openai.types.chat.ChatCompletion.model_validate(body, strict=True)
    assert {name: it for name, it in body.items() if name.endswith("service_tier")} == told


def token(text: str, logprob: Any, *top: Any) -> dict[str, Any]:
    return {"token": text, "logprob": logprob, "bytes": None, "top_logprobs": list(top)}


def other(text: str, logprob: Any) -> dict[str, Any]:
    return {"token": text, "logprob": logprob, "bytes": None}


@pytest.mark.parametrize("odd", [None, True, "low", {}])
@pytest.mark.parametrize("name", ["content", "refusal"])
def test_a_token_without_a_number_is_very_unlikely(odd: Any, name: str) -> None:
    """Servers say minus infinity, which JSON cannot; the contract has no null there."""
    good = token("c", -1.5, other("c", -1.5))
    sent = {name: [token("a", odd, other("b", -1)), token("b", -1, other("b", odd)), good]}
    choice = Choice(0, "abc", "stop", sent)
    body = dump_chat_completion(COMPLETION._replace(choices=(choice,)))
    openai.types.chat.ChatCompletion.model_validate(body)
    assert body["choices"][0]["logprobs"][name] == [
        token("a", -9999.0, other("b", -1)),
        token("b", -1, other("b", -9999.0)),
        good,
    ]


def test_calls_stand_in_for_the_content() -> None:
    custom = ToolCall(1, "c2", "sql", "SELECT 1", "custom")
    signed = replace(CALL, extra={"extra_content": {"google": {"thought_signature": "s"}}})
    assert message_of("", Reply(tool_calls=(signed, custom))) == {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "tool_calls": [
            {
                "extra_content": {"google": {"thought_signature": "s"}},
                "id": "c1",
                "type": "function",
                "function": {"name": "f", "arguments": '{"a": 1}'},
            },
            {"id": "c2", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}},
        ],
    }
    assert message_of("I look", Reply(tool_calls=(CALL,)))["content"] == "I look"


@pytest.mark.parametrize(
    ("reply", "content"),
    [
        (None, ""),
        (Reply(), ""),
        (Reply(reasoning="cut off by the limit"), ""),
        (Reply(refusal="no"), None),
        (Reply(extra={"images": []}), None),
        (Reply(extra={"annotations": []}), ""),
    ],
)
def test_the_content_is_always_there(reply: Reply | None, content: str | None) -> None:
    message = message_of("", reply)
    assert message["content"] == content
    assert message["role"] == "assistant"
    assert "tool_calls" not in message
    assert message["refusal"] == (reply.refusal or None if reply else None)


@pytest.mark.parametrize(("text", "content"), [("", None), ("a", "a")])
def test_what_a_filter_has_left_nothing_of_has_no_content(text: str, content: str | None) -> None:
    filtered = COMPLETION._replace(choices=(Choice(0, text, "content_filter"),))
    (choice,) = dump_chat_completion(filtered)["choices"]
    assert choice["message"] == {"role": "assistant", "content": content, "refusal": None}


def test_reasoning_is_in_its_own_field() -> None:
    assert message_of("a", Reply(reasoning="b"))["reasoning_content"] == "b"
    assert "reasoning_content" not in message_of("a", Reply())


def test_usage_has_the_details_of_the_contract() -> None:
    usage = dump_chat_usage(USAGE)
    assert usage["prompt_tokens_details"] == {
        "cached_tokens": 4,
        "audio_tokens": 0,
        "cache_write_tokens": 3,
    }
    assert usage["completion_tokens_details"]["reasoning_tokens"] == 5


def test_tokens_of_images_are_there_if_there_are_any() -> None:
    usage = dump_chat_usage(replace(USAGE, image_prompt_tokens=2, image_completion_tokens=3))
    assert usage["prompt_tokens_details"]["image_tokens"] == 2
    assert usage["completion_tokens_details"]["image_tokens"] == 3
    none = dump_chat_usage(USAGE)
    assert "image_tokens" not in {
        **none["prompt_tokens_details"],
        **none["completion_tokens_details"],
    }
