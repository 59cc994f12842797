"""OpenAI-compatible vendors' streams to callers of chat, and their own fields around choices."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vocabulary.chat.reply import Reply
from app.vocabulary.chat.tools import ToolCall
from app.vocabulary.completion import Choice, Completion
from app.vocabulary.errors import GatewayError
from tests.gateways.chat_rows import ChatRow, joined, reply_of
from tests.gateways.openai.chat_vendors import EACH, ROWS, call
from tests.gateways.openai.chat_wire import STREAM, USAGE, answer, chunk, delta, message
from tests.gateways.rows import bodies
from tests.support.vendor import DONE, usage_of

OPENAI = ROWS["openai"]
END = [chunk(usage=USAGE), DONE]


def whole(*deltas: dict[str, Any], row: ChatRow = OPENAI, **fields: Any) -> Choice:
    """Return the one choice of a stream of these deltas, joined as clients do."""
    choice, usage = joined(row.chunks([*map(chunk, deltas), *END], **fields))
    assert usage is not None
    return choice


def fragment(index: Any = None, call_id: str | None = None, **function: Any) -> dict[str, Any]:
    """Return a piece of a call, as in a delta."""
    piece: dict[str, Any] = {} if index is None else {"index": index}
    return piece | ({"id": call_id, "type": "function"} if call_id else {}) | {"function": function}


@EACH
@pytest.mark.parametrize("size", [1, 7, None])
def test_a_stream_of_texts_is_texts(row: ChatRow, size: int | None) -> None:
    choice, usage = joined(row.chunks(STREAM, size))
    assert choice == Choice(0, "café \u2028", "stop")
    assert usage is not None
    assert usage.total_tokens == 18


@EACH
def test_what_a_delta_has_reaches_the_caller_once(row: ChatRow) -> None:
    """Together sends the reasoning by both names, and nulls and empty lists with each delta."""
    none: dict[str, Any] = {
        "refusal": None,
        "tool_calls": [],
        "annotations": [],
        "function_call": None,
    }
    found = whole(
        delta(role="assistant", content=None, reasoning="", **none),
        delta(role="assistant", content=None, reasoning="h", reasoning_content="h", **none),
        delta(role="assistant", content="", reasoning_content="m", **none),
        delta(role="assistant", content="a", **none),
        delta(finish="stop"),
        row=row,
    )
    assert found == Choice(0, "a", "stop", reply=Reply("hm"))


def test_a_refusal_streams() -> None:
    found = whole(delta(refusal="N"), delta(refusal="o."), delta(finish="stop"))
    assert found == Choice(0, "", "stop", reply=Reply(refusal="No."))


def test_a_choice_that_is_text_and_delta_is_one_text() -> None:
    piece = {**delta(content="a"), "text": "a"}
    calls = {**delta(tool_calls=[fragment(0, "c", name="f", arguments="{}")]), "text": ""}
    found = whole(piece, calls, {**delta(finish="eos"), "text": ""}, row=ROWS["together"])
    assert (found.text, found.finish_reason) == ("a", "tool_calls")


def test_a_choice_may_be_a_text_as_in_completions() -> None:
    assert whole({"index": 0, "text": "a"}, {"index": 0, "text": "b", "finish_reason": "stop"}) == (
        Choice(0, "ab", "stop")
    )


# Calls.


CALLS = (ToolCall(0, "a", "f", '{"x":1}'), ToolCall(1, "b", "g", "{}"))


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(
            [
                [fragment(0, "a", name="f", arguments="")],
                [fragment(0, arguments='{"x"')],
                [fragment(0, arguments=":1}")],
                [fragment(1, "b", name="g", arguments="")],
                [fragment(1, arguments="{}")],
            ],
            id="contract",
        ),
        pytest.param(
            [
                [fragment(None, "a", name="f", arguments='{"x"')],
                [fragment(None, arguments=":1}")],
                [fragment(None, "b", name="g", arguments="{")],
                [fragment(None, arguments="}")],
            ],
            id="without index",
        ),
        pytest.param(
            [
                [fragment(0, "a", name="f", arguments='{"x":1}')],
                [fragment(0, "b", name="g", arguments="{}")],
            ],
            id="whole, all 0",
        ),
        pytest.param(
            [
                [
                    fragment(0, "a", name="f", arguments={"x": 1}),
                    fragment(0, "b", name="g", arguments={}),
                ]
            ],
            id="objects in one chunk",
        ),
        pytest.param(
            [
                [fragment(1.0, "a", name="f", arguments='{"x"')],
                [fragment(1.0, "a", name="f", arguments=":1}")],
                [fragment(4.0, "b", name="g", arguments="")],
            ],
            id="gaps, floats, repeated, without arguments",
        ),
    ],
)
@pytest.mark.parametrize("finish", ["tool_calls", "stop", ""])
def test_calls_are_numbered_named_once_and_whole(pieces: list[Any], finish: str) -> None:
    deltas = [delta(content=None, tool_calls=it) for it in pieces]
    found = whole(*deltas, delta(finish=finish))
    assert found.finish_reason == "tool_calls"
    assert reply_of(found).tool_calls == CALLS


def test_a_null_beside_a_name_means_no_arguments_and_elsewhere_itself() -> None:
    """Groq's models write the former; the latter may be a piece of its own."""
    pieces = [
        fragment(0, "a", name="f", arguments="null"),
        fragment(1, "b", name="g", arguments='{"x":'),
        fragment(1, arguments="null"),
        fragment(1, arguments="}"),
    ]
    deltas = [delta(tool_calls=[piece]) for piece in pieces]
    first, second = reply_of(whole(*deltas, delta(0, "tool_calls"))).tool_calls
    assert (first.arguments, second.arguments) == ("{}", '{"x":null}')


def test_a_signature_comes_once_with_its_call() -> None:
    signed = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    pieces = [
        delta(tool_calls=[{**fragment(0, "a", name="f", arguments=""), **signed}]),
        delta(tool_calls=[fragment(0, arguments="{}")]),
    ]
    found = whole(*pieces, delta(finish="tool_calls"))
    assert reply_of(found).tool_calls == (ToolCall(0, "a", "f", "{}", extra=signed),)


def test_a_second_end_and_calls_that_are_none_change_nothing() -> None:
    called = delta(tool_calls=[fragment(0, "a", name="f", arguments="{}")])
    found = whole(called, delta(finish="tool_calls"), delta(finish="stop"))
    assert found.finish_reason == "tool_calls"
    assert whole(delta(content="a", tool_calls=[]), delta(finish="tool_calls")) == (
        Choice(0, "a", "stop")
    )


def test_a_call_that_the_limit_cut_stays_as_it_is() -> None:
    called = delta(tool_calls=[fragment(0, "a", name="f", arguments='{"city":"Pa')])
    found = whole(called, delta(finish="length"))
    assert found.finish_reason == "length"
    assert reply_of(found).tool_calls[0].arguments == '{"city":"Pa'


def test_an_old_call_streams_as_the_vendor_sends_it() -> None:
    chunks = OPENAI.chunks(
        [
            chunk(delta(function_call={"name": "f", "arguments": ""})),
            chunk(delta(function_call={"arguments": "{}"})),
            chunk(delta(finish="function_call")),
            *END,
        ]
    )
    choices = [choice for it in chunks for choice in it.choices]
    calls = [reply_of(it).extra for it in choices if it.reply]
    assert calls == [
        {"function_call": {"name": "f", "arguments": ""}},
        {"function_call": {"arguments": "{}"}},
    ]
    assert choices[-1].finish_reason == "function_call"


def test_calls_are_counted_in_each_choice() -> None:
    deltas = [
        delta(at, tool_calls=[fragment(0, f"c{at}", name="f", arguments="{}")]) for at in (0, 1)
    ]
    chunks = OPENAI.chunks(
        [chunk(*deltas), chunk(delta(0, "tool_calls"), delta(1, "stop")), *END], n=2
    )
    calls = {
        choice.index: piece
        for it in chunks
        for choice in it.choices
        if choice.reply
        for piece in choice.reply.tool_calls
    }
    assert calls == {at: ToolCall(0, f"c{at}", "f", "{}") for at in (0, 1)}
    ends = [choice.finish_reason for it in chunks for choice in it.choices if choice.finish_reason]
    assert ends == ["tool_calls", "tool_calls"]


# Content in parts.


def test_content_in_parts_streams_as_text_and_reasoning() -> None:
    def thinks(text: str, **more: Any) -> dict[str, Any]:
        return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **more}

    reference = {"type": "reference", "reference_ids": [1]}
    found = whole(
        delta(content=[thinks("h")]),
        delta(content=[thinks("m", signature="c2ln", closed=True)]),
        delta(content=[{"type": "text", "text": "A"}, reference]),
        delta(content="B"),
        delta(finish="stop"),
        row=ROWS["mistral"],
    )
    assert (found.text, reply_of(found).reasoning) == ("AB", "hm")
    block = {"type": "thinking", "thinking": "hm", "signature": "c2ln", "index": 0}
    assert reply_of(found).extra == {
        "thinking_blocks": [block],
        "content_parts": [{**reference, "index": 0}],
        "extra_content": {"tollgate": {"issuer": "mistral"}},
    }


# Fields that only the vendor knows.


def extras(chunks: list[Completion]) -> list[Any]:
    return [it.extra for it in chunks if it.extra]


def test_fields_around_the_choices_are_kept() -> None:
    beyond = {"citations": ["https://ex.org"], "moderation": {"a": 1}}
    own = {"obfuscation": "x7K", "object": "chat.completion", "provider": None}
    body = answer(message("a"), usage=USAGE, **beyond, **own)
    assert OPENAI.decoded(body).extra == beyond
    chunks = OPENAI.chunks([chunk(delta(content="a", finish="stop"), **beyond, **own), *END])
    assert chunks[0].extra == beyond


def test_groqs_usage_is_no_field_of_its_own() -> None:
    body = answer(message("a"), x_groq={"id": "req_1", "usage": USAGE})
    completion = ROWS["groq"].decoded(body)
    assert completion.extra == {"x_groq": {"id": "req_1"}}
    assert completion.usage is not None
    body = answer(message("a"), x_groq={"usage": USAGE})
    assert ROWS["groq"].decoded(body).extra is None


def test_fields_of_chunks_that_differ_in_their_text_alone_come_with_each() -> None:
    deltas = [chunk(delta(content=f"w{at}"), provider="P") for at in range(9)]
    chunks = OPENAI.chunks([*deltas, chunk(delta(finish="stop")), *END])
    assert [it.extra for it in chunks if it.choices and it.choices[0].text] == [
        {"provider": "P"}
    ] * 9


def test_azures_verdict_comes_with_the_first_text_and_late_ones_with_a_delta() -> None:
    verdict = {"prompt_filter_results": [{"prompt_index": 0}]}
    first = chunk(id="", model="", object="", created=0, **verdict)
    late = chunk(
        {"index": 0, "finish_reason": None, "content_filter_offsets": {"check_offset": 1}},
        id="",
    )
    chunks = ROWS["azure"].chunks([first, *STREAM[:2], late, *STREAM[2:]])
    with_choices = [it for it in chunks if it.choices]
    assert extras(with_choices) == [verdict]
    assert with_choices[0].choices[0].text == "caf"
    assert with_choices[0].id == "chatcmpl-1"
    [offsets] = [c for it in chunks for c in it.choices if c.extra]
    assert offsets == Choice(0, "", extra={"content_filter_offsets": {"check_offset": 1}})
    assert joined(chunks)[0].text == "café \u2028"


def test_a_verdict_after_the_end_comes_with_the_last_chunk() -> None:
    verdict = chunk(moderation={"flagged": False})
    for late in ([*STREAM[:-2], verdict, *STREAM[-2:]], [*STREAM[:-1], verdict, STREAM[-1]]):
        assert extras(OPENAI.chunks(late))[-1] == {"moderation": {"flagged": False}}


def test_a_picture_of_megabytes_is_delivered() -> None:
    url = "data:image/png;base64," + "A" * 12_000_000
    image = {"type": "image_url", "image_url": {"url": url}}
    found = whole(delta(images=[image]), delta(finish="stop"), row=ROWS["openrouter"])
    assert reply_of(found).extra == {"images": [{**image, "index": 0}]}


# Usage.


@EACH
def test_a_running_usage_is_the_last_one(row: ChatRow) -> None:
    running = [chunk(delta(content="a"), usage=usage_of(5, at)) for at in (1, 2, 3)]
    for last in ([], [chunk(usage=None)], [chunk(usage=usage_of(5, 3))]):
        chunks = row.chunks([*running, chunk(delta(finish="stop")), *last, DONE])
        choice, usage = joined(chunks)
        assert choice.text == "aaa"
        assert usage is not None
        assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (5, 3, 8)


# Log probabilities.


def token(text: str, logprob: float, **more: Any) -> dict[str, Any]:
    return {"token": text, "logprob": logprob, **more}


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (
            {"content": [token("a", -1, bytes=[97], top_logprobs=[token("b", -2)])]},
            [token("a", -1, bytes=[97], top_logprobs=[token("b", -2, bytes=None)])],
        ),
        ({"content": [token("a", -1)]}, [token("a", -1, bytes=None, top_logprobs=[])]),
        (
            {"content": [token("a", -1, sampling_logprob=-3, top_logprobs=None)]},
            [token("a", -1, bytes=None, sampling_logprob=-3, top_logprobs=[])],
        ),
        (
            {"tokens": ["é"], "token_logprobs": [-1], "top_logprobs": [{"b": -2}]},
            [token("é", -1, bytes=[195, 169], top_logprobs=[token("b", -2, bytes=[98])])],
        ),
    ],
)
def test_log_probabilities_are_in_chats_format(sent: dict[str, Any], told: list[Any]) -> None:
    body = answer({**message("a"), "logprobs": sent})
    assert OPENAI.decoded(body, logprobs=True).choices[0].logprobs == {
        "content": told,
        "refusal": None,
    }
    assert OPENAI.decoded(body).choices[0].logprobs is None


def test_a_token_beside_a_choice_is_its_log_probability() -> None:
    piece = chunk(delta(content="a"), token={"id": 1, "text": "a", "logprob": -1})
    chunks = ROWS["together"].chunks([piece, chunk(delta(finish="eos")), *END], logprobs=True)
    found = next(c for it in chunks for c in it.choices if c.logprobs)
    assert found.logprobs == {
        "content": [token("a", -1, bytes=[97], top_logprobs=[])],
        "refusal": None,
    }


# Failures.


@EACH
@pytest.mark.parametrize(
    ("code", "status"), [(429, 429), (400, 400), (503, 503), (502, 502), (None, 502)]
)
def test_a_failure_in_a_chunk_is_an_error_and_never_an_end(
    row: ChatRow, code: int | None, status: int
) -> None:
    wrong = chunk(delta(content="", finish="error"), error={"code": code, "message": "busy"})
    assert row.broken([wrong]).status == status
    later = row.broken([*STREAM[:2], wrong])
    assert (later.status, later.billable) == (status, True)


@EACH
@pytest.mark.parametrize(
    "body",
    [
        answer(message("a", "error"), usage=dict.fromkeys(USAGE) | {"total_tokens": 0}),
        {"choices": None},
        {"choices": None, "usage": {"prompt_tokens": None}},
    ],
)
def test_a_failure_that_looks_like_an_answer_is_none_and_counts_nothing(
    row: ChatRow, body: dict[str, Any]
) -> None:
    with pytest.raises(GatewayError) as caught:
        row.decoded(body)
    assert caught.value.status == 502
    assert not row.gateway.reader(row.vendor, row.asks("m")).usage_in(json.dumps(body).encode())


@given(
    st.lists(
        bodies("choices", "delta", "content", "tool_calls", "index", "function", "finish_reason"),
        max_size=4,
    ),
    st.integers(1, 50),
)
def test_no_stream_makes_anything_but_chunks_or_a_vendors_error(
    packets: list[bytes], size: int
) -> None:
    stream = [b"data: " + packet + b"\n\n" for packet in packets]
    try:
        chunks = OPENAI.chunks(stream, size, logprobs=True)
    except GatewayError:
        return
    assert any(choice.finish_reason for c in chunks for choice in c.choices)


def test_a_whole_call_in_a_whole_answer_is_the_same_as_streamed() -> None:
    calls = [call("a", '{"x":1}'), call("b")]
    body = answer(message(None, "tool_calls", tool_calls=calls))
    streamed = whole(
        *[delta(tool_calls=[{**it, "index": at}]) for at, it in enumerate(calls)],
        delta(finish="tool_calls"),
    )
    assert OPENAI.decoded(body).choices[0] == streamed
