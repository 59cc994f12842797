"""OpenAI's completions format: streams that end early."""

import pytest

from app.formats.sse import EVENT_LIMIT
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import (
    VendorFailed,
)
from tests.gateways.openai.stream_parts import TWO
from tests.gateways.openai.wire import (
    GATEWAY,
    STREAMED,
    VENDOR,
    broken,
    chunks_of,
    said,
    told,
)
from tests.support.vendor import DONE, body_of, choice, event, usage_of

BROKEN: dict[str, tuple[list[bytes], CompletionRequest]] = {
    "nothing": ([], STREAMED),
    "comments alone": ([b": keep-alive\n\n" * 3], STREAMED),
    "an end mark alone": ([DONE], STREAMED),
    "usage alone": ([said(usage=usage_of(5, 3)), DONE], STREAMED),
    "no finish reason": ([said(choice("a"))], STREAMED),
    "JSON cut in the middle": ([said(choice("a")), said(choice("b", "stop"))[:-9]], STREAMED),
    "one of two never ends": ([said(choice("a", "stop", 0)), said(choice("x", None, 1))], TWO),
    "one of two never comes": ([said(choice("a", "stop", 0))], TWO),
    "an aborted choice": ([said(choice("a")), said(choice("", "abort")), DONE], STREAMED),
    "a failed choice": ([said(choice("a")), said(choice("", "error")), DONE], STREAMED),
    "an unloaded model": ([said(choice("", "load")), DONE], STREAMED),
    "no JSON": ([said(choice("a")), b"data: oops\n\n", said(choice("", "stop")), DONE], STREAMED),
    "JSON that is no object": ([b"data: 5\n\n", said(choice("a", "stop")), DONE], STREAMED),
    "an event without end": ([b"data: " + b"x" * (EVENT_LIMIT + 1)], STREAMED),
}


@pytest.mark.parametrize(("stream", "request_"), BROKEN.values(), ids=BROKEN)
def test_half_an_answer_is_never_taken_for_a_whole_one(
    stream: list[bytes], request_: CompletionRequest
) -> None:
    error = broken(stream, request_)
    assert type(error) is VendorFailed
    assert error.billable


def test_the_words_of_a_broken_stream_are_not_in_its_error() -> None:
    assert "secret" not in str(broken([b'data: {"choices":[{"text":"a secret\n\n']))


def test_held_back_deltas_are_released_at_the_end_if_they_can_be_placed() -> None:
    """Of three prompts' samples, choices 0 and 1 came: no server that numbers prompts skips 2."""
    asked = CompletionRequest(model="sim/m", prompt=("a", "b", "c"), n=2, stream=True)
    reader = GATEWAY.reader(VENDOR, asked)
    deltas = [choice(text, None, index) for index, text in ((0, "x"), (1, "y"), (1, "z"))]
    ends = [choice("", "stop", index) for index in (0, 1)]
    received = [
        (c.index, c.text)
        for packet in (*(event(body_of(it)) for it in (*deltas, *ends)), DONE)
        for chunk in reader.feed(packet)
        for c in chunk.choices
    ]
    assert received == [(0, "x")]
    held = [(c.index, c.text) for chunk in reader.close() for c in chunk.choices if c.text]
    assert held == [(1, "y"), (1, "z")]
    assert reader.missing == [2, 3, 4, 5]


def test_text_after_the_end_of_the_only_choice_is_that_choices() -> None:
    packets = [body_of(choice("a")), body_of(choice("", "stop")), body_of(choice("b"))]
    text, reasons, _ = told(chunks_of([*map(event, packets), DONE]))
    assert (text, reasons) == ({0: "ab"}, {0: "stop"})


def test_of_two_choices_with_one_number_no_text_is_put_after_the_end_of_the_first() -> None:
    """Whose it is nobody can tell: that choice is missing, and asked for again."""
    begun = [body_of(choice("x")), body_of(choice("", "stop"))]
    again = [body_of(choice("y")), body_of(choice("", "length"))]
    reader = GATEWAY.reader(VENDOR, TWO)
    packets = [*map(event, [*begun, *again]), DONE]
    chunks = [chunk for packet in packets for chunk in reader.feed(packet)]
    text, reasons, _ = told([*chunks, *reader.close()])
    assert text[0] == "x"
    assert reasons[0] == "stop"
    assert reader.missing == [1]
