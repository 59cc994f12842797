"""OpenAI's chat format: whole responses, their usage and their log probabilities."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vocabulary.completion import Choice, FinishReason
from app.vocabulary.errors import GatewayError, VendorFailed
from tests.gateways.openai.chat_row import DEEPSEEK, OPENAI, XAI
from tests.gateways.openai.chat_wire import USAGE, answer, message
from tests.gateways.rows import Row, bodies


def only(choices: tuple[Choice, ...]) -> Choice:
    (choice,) = choices
    return choice


def test_a_message_is_the_text() -> None:
    completion = OPENAI.decoded(
        answer(message("b", index=1), message("a", "length"), usage=USAGE, system_fingerprint="f"),
        n=2,
    )
    assert completion.choices == (Choice(0, "a", "length"), Choice(1, "b", "stop"))
    assert (completion.id, completion.model) == ("chatcmpl-1", "m-2026-01-01")
    assert (completion.created, completion.system_fingerprint) == (1_790_000_000, "f")
    assert completion.usage is not None
    assert completion.usage.total_tokens == 18


@pytest.mark.parametrize(
    ("choice", "text", "finish"),
    [
        (message(None), "", "stop"),
        (message(""), "", "stop"),
        (message("a", "max_tokens"), "a", "length"),
        (message("a", "tool_calls", tool_calls=[{"id": "1"}]), "a", "stop"),
        (message("a", "content_filter"), "a", "content_filter"),
        (message(None, refusal="No."), "", "content_filter"),
        (message(None, "length", refusal="No."), "", "length"),
        (message("a", refusal=None), "a", "stop"),
        (message("a", reasoning_content="Hm."), "a", "stop"),
        (message("a") | {"delta": {"role": "assistant", "content": ""}}, "a", "stop"),
        (message(None, "length", reasoning="Hm."), "", "length"),
        (
            message(
                [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                    {"type": "text", "text": "a"},
                    {"type": "reference", "reference_ids": [1]},
                    {"type": "text", "text": "b"},
                ]
            ),
            "ab",
            "stop",
        ),
    ],
)
def test_only_what_is_said_is_text(choice: dict[str, Any], text: str, finish: FinishReason) -> None:
    assert only(OPENAI.decoded(answer(choice)).choices) == Choice(0, text, finish)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"<html>",
        b"[[]]",
        b"null",
        b"7",
        answer(),
        answer(message("a", "error")),
        answer(message("a", "insufficient_system_resource")),
        answer(message(5)),
        answer(message({"text": "a"})),
        answer({"index": 0, "message": None, "finish_reason": "stop"}),
        answer("a"),  # type: ignore[arg-type]
        answer(choices=5),
    ],
)
def test_what_is_no_whole_answer_is_a_failure_that_may_be_billed(body: Any) -> None:
    refusal = OPENAI.refusal(body)
    assert isinstance(refusal, VendorFailed)
    assert refusal.billable


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"error": {"message": "No.", "type": "invalid_request_error"}}, 400),
        ({"error": {"code": 429, "message": "No.", "metadata": {}}}, 429),
        ({"code": "Internal error", "error": "No."}, 502),
        ({"object": "error", "message": "No.", "type": "overloaded_error"}, 503),
        (answer(x_groq={"id": "req_1", "error": "over capacity"}), 502),
    ],
)
def test_a_200_may_be_an_error(body: Any, status: int) -> None:
    assert OPENAI.refusal(body).status == status


def test_leading_blank_lines_are_no_part_of_an_answer() -> None:
    body = b"\n\n\n" + json.dumps(answer(message("a"))).encode()
    assert only(DEEPSEEK.decoded(body).choices).text == "a"


@given(bodies("choices", "message", "content", "finish_reason", "stop", "index", "type", "text"))
def test_no_body_makes_anything_but_an_answer_or_a_vendors_error(body: bytes) -> None:
    try:
        completion = OPENAI.decoded(body, logprobs=1)
    except GatewayError:
        return
    assert completion.choices


@pytest.mark.parametrize(
    ("row", "usage", "counts"),
    [
        (OPENAI, {**USAGE, "completion_tokens_details": {"reasoning_tokens": 5}}, (11, 7, 18, 5)),
        (
            XAI,
            {
                "prompt_tokens": 11,
                "completion_tokens": 2,
                "total_tokens": 18,
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
            (11, 7, 18, 5),
        ),
        (
            XAI,
            {
                "prompt_tokens": 11,
                "completion_tokens": 7,
                "total_tokens": 18,
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
            (11, 7, 18, 5),
        ),
        (OPENAI, {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 20}, (11, 9, 20, 0)),
    ],
)
def test_reasoning_is_a_part_of_the_completion_however_it_is_counted(
    row: Row, usage: dict[str, Any], counts: tuple[int, ...]
) -> None:
    found = row.decoded(answer(message("a"), usage=usage)).usage
    assert found is not None
    assert counts == (
        found.prompt_tokens,
        found.completion_tokens,
        found.total_tokens,
        found.reasoning_tokens,
    )


def token(text: str, logprob: Any, *top: tuple[str, float], raw: Any = None) -> dict[str, Any]:
    """Return a token in chat's format."""
    others = [{"token": t, "logprob": lp, "bytes": None} for t, lp in top]
    return {"token": text, "logprob": logprob, "bytes": raw, "top_logprobs": others}


def told(*tokens: Any, asked: int = 2) -> Any:
    """Return the caller's `logprobs` for these tokens."""
    choice = {**message("x"), "logprobs": {"content": list(tokens), "refusal": None}}
    return only(OPENAI.decoded(answer(choice), logprobs=asked).choices).logprobs


def test_log_probabilities_take_the_contracts_form() -> None:
    assert told(token("ab", -0.1, ("ab", -0.1), ("c", -2)), token("é", -3, ("d", -1))) == {
        "tokens": ["ab", "é"],
        "token_logprobs": [-0.1, -3],
        "top_logprobs": [{"ab": -0.1, "c": -2}, {"d": -1, "é": -3}],
        "text_offset": [0, 2],
    }


def test_without_alternatives_there_are_the_tokens_own() -> None:
    assert told(token("ab", -0.1), token("c", None), asked=0) == {
        "tokens": ["ab", "c"],
        "token_logprobs": [-0.1, None],
        "top_logprobs": None,
        "text_offset": [0, 2],
    }


def test_a_token_that_is_a_piece_of_a_character_starts_where_the_character_does() -> None:
    pieces = [
        token("a", -1, raw=[97]),
        token("\\xe2\\x82", -1, raw=[0xE2, 0x82]),
        token("\\xac", -1, raw=[0xAC]),
        token("b", -1, raw=[98]),
    ]
    assert told(*pieces)["text_offset"] == [0, 1, 1, 2]


def test_nobody_is_told_log_probabilities_without_asking() -> None:
    choice = {**message("x"), "logprobs": {"content": [token("x", -1)]}}
    assert only(OPENAI.decoded(answer(choice)).choices).logprobs is None


@pytest.mark.parametrize("logprobs", [None, {}, [], 5, {"content": None}, {"content": []}])
def test_log_probabilities_may_be_missing(logprobs: Any) -> None:
    choice = {**message("x"), "logprobs": logprobs}
    assert only(OPENAI.decoded(answer(choice), logprobs=1).choices).logprobs is None


@given(st.lists(st.characters(), min_size=1, max_size=9), st.data())
def test_offsets_point_into_the_text_wherever_it_is_cut(letters: list[str], draw: Any) -> None:
    text = "".join(letters).encode("utf-8", "surrogatepass")
    cuts = sorted(draw.draw(st.sets(st.integers(1, max(1, len(text) - 1)))))
    ends = [*(cut for cut in cuts if cut < len(text)), len(text)]
    starts = [0, *ends[:-1]]
    tokens = [token("?", -1, raw=list(text[a:b])) for a, b in zip(starts, ends, strict=True)]
    for start, offset in zip(starts, told(*tokens)["text_offset"], strict=True):
        before = "".join(letters[:offset]).encode("utf-8", "surrogatepass")
        through = "".join(letters[: offset + 1]).encode("utf-8", "surrogatepass")
        assert len(before) <= start < len(through)


@pytest.mark.parametrize(
    ("more", "tier"),
    [
        ({"service_tier": "flex"}, "flex"),
        ({"usage": {**USAGE, "service_tier": "priority"}}, "priority"),
        ({"service_tier": "default", "usage": {**USAGE, "service_tier": "priority"}}, "default"),
        ({"usage": {**USAGE, "service_tier": None}}, None),
        ({"usage": {**USAGE, "service_tier": 5}}, None),
    ],
)
def test_the_tier_is_the_objects_or_its_usages(more: dict[str, Any], tier: str | None) -> None:
    assert OPENAI.decoded(answer(message("a"), **more)).service_tier == tier
