"""The fast path for chunks returns what parsing them returns."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gateways.decoding import chunk_template
from app.gateways.families import GATEWAYS
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.completion import Completion, CompletionRequest
from app.vocabulary.errors import GatewayError

VENDOR = Vendor(name="v", gateway="openai", base_url="http://v.invalid")
TEXT = CompletionRequest(model="v/m", prompt="p", stream=True, n=2)
CHAT = ChatRequest(model="v/m", messages=(), stream=True, n=2)
NATIVE, BRIDGE = GATEWAYS["openai"].doors("completions")

#: Gateways, each with a request for it.
BY_KIND: dict[str, tuple[Any, Any]] = {
    "native": (NATIVE, TEXT),
    "bridge": (BRIDGE, TEXT),
    "chat": (GATEWAYS["openai"].chat, CHAT),
}

TEXTS = st.one_of(
    st.sampled_from(["", " a", "caf\u00e9", '"', "\\", "\n", '"text":"x"', '"content":"x"']),
    st.text(max_size=8),
)


def body(kind: str, text: str, padding: str = "", **choice: Any) -> dict[str, Any]:
    """Return a chunk of one format as vendors write it, with OpenAI's padding if there is any."""
    said = {"text": text} if kind == "native" else {"delta": {"content": text}}
    told = {"index": 0, **said, "logprobs": None, "finish_reason": None, **choice}
    padded = {"obfuscation": padding} if padding else {}
    return {"id": "c", "created": 1, "model": "m", "choices": [told], "usage": None} | padded


def read(kind: str, events: list[bytes]) -> tuple[list[Completion], str | None]:
    """Return what a decoder makes of the events, and how it failed, if it did."""
    gateway, request = BY_KIND[kind]
    decoder, chunks = gateway.reader(VENDOR, request), list[Completion]()
    try:
        for data in events:
            chunks += decoder.feed(b"data: " + data + b"\n\n")
    except GatewayError as error:
        return chunks, error.message
    return chunks, None


def read_in_full(kind: str, events: list[bytes]) -> tuple[list[Completion], str | None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk_template, "LEARN_LIMIT", 0)
        return read(kind, events)


PADDINGS = st.sampled_from(["", "a", "Zz09", "", "\\", "two words", '"', "\u00e9"])

EVENTS = st.lists(
    st.one_of(
        st.tuples(TEXTS, st.just({})),
        st.tuples(TEXTS, st.builds(lambda padding: {"padding": padding}, PADDINGS)),
        st.tuples(
            TEXTS,
            st.sampled_from(
                [{"index": 1}, {"finish_reason": "stop"}, {"more": 1}, {"obfuscation": "x"}]
            ),
        ),
    ),
    max_size=12,
)


@pytest.mark.parametrize("kind", sorted(BY_KIND))
@given(texts=EVENTS, ascii_only=st.booleans())
def test_a_stream_means_the_same_as_if_each_chunk_was_read_in_full(
    kind: str, texts: list[tuple[str, dict[str, Any]]], ascii_only: bool
) -> None:
    bodies = [body(kind, text, **choice) for text, choice in texts]
    told = [json.dumps(it, ensure_ascii=ascii_only).encode("utf-8", "replace") for it in bodies]
    assert read(kind, told) == read_in_full(kind, told)


@pytest.mark.parametrize("kind", sorted(BY_KIND))
@pytest.mark.parametrize(
    "broken",
    [b"\x01", b"\n", b"\xff", b"\xed\xa0\x80", b'" "', b"\\", b"\x7f", b"\xe2\x80\xa8", b""],
)
def test_invalid_json_is_rejected_on_the_fast_path_too(kind: str, broken: bytes) -> None:
    usual = json.dumps(body(kind, "TEXT")).encode()
    events = [usual, usual, usual.replace(b"TEXT", broken), usual]
    assert read(kind, events) == read_in_full(kind, events)


@pytest.mark.parametrize("kind", sorted(BY_KIND))
@pytest.mark.parametrize("padding", ["", "aZ9"])
def test_a_chunk_that_differs_only_in_text_and_padding_is_not_parsed(
    kind: str, padding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = list[bytes]()
    loads = chunk_template.ChunkTemplate.read

    def spy(self: chunk_template.ChunkTemplate, data: bytes) -> Completion | None:
        chunk = loads(self, data)
        if chunk is None:
            seen.append(data)
        return chunk

    monkeypatch.setattr(chunk_template.ChunkTemplate, "read", spy)
    events = [
        json.dumps(body(kind, f" w{at}", padding and padding * (at + 1))).encode()
        for at in range(5)
    ]
    chunks, _ = read(kind, events)
    assert [chunk.choices[0].text for chunk in chunks] == [f" w{at}" for at in range(5)]
    assert seen == events[:1]
