"""The samples of the routes are what the sandbox answers."""

import json

from app.api.openapi.examples import EXAMPLES
from app.formats.sse import DONE


def test_a_stream_says_what_the_whole_answer_says_and_ends_by_name() -> None:
    text, chat = EXAMPLES["createCompletion"], EXAMPLES["createChatCompletion"]
    whole = text.answer["choices"][0]["text"]
    assert "".join(it["choices"][0]["text"] for it in text.stream) == whole
    said = chat.answer["choices"][0]["message"]["content"]
    deltas = (it["choices"][0]["delta"] for it in chat.stream)
    assert "".join(delta.get("content", "") for delta in deltas) == said
    for example in (text, chat):
        *frames, end, _ = example.events().split("\n\n")
        assert [json.loads(frame.removeprefix("data: ")) for frame in frames] == example.stream
        assert f"{end}\n\n".encode() == DONE


def test_a_route_without_a_stream_has_only_an_answer() -> None:
    assert EXAMPLES["listModels"].stream == ()
    assert EXAMPLES["listModels"].body is None
