"""Text that encodes, however the vendor or the network split it."""

import pytest

from tests.contract.answers.contract_choice import BOTH, COUNTS, say
from tests.contract.answers.parts import SSE, Part
from tests.contract.answers.site import Site, by_index
from tests.contract.answers.wires import WIRES
from tests.support.vendor import Reply

# Text that encodes, however it was cut.

WIRES_OF_TEXT = (
    "text",
    "chat",
    "azure-text",
    "llmengine",
    "launch",
    "anthropic",
    "gemini",
    "cohere",
    "converse",
    "llama",
    "titan",
    "mistral-raw",
    "command",
    "fim",
    "llmengine_v1",
)


#: Pieces of a text as a vendor sends them, and the text that the caller is to get.
CUT_TEXTS: dict[str, tuple[list[str], str]] = {
    "a pair in two pieces": (["ha \ud83d", "\ude00 ha"], "ha \U0001f600 ha"),
    "a pair in two pieces, one at a time": (["\ud83d", "\ude00"], "\U0001f600"),
    "two pairs, each cut": (
        ["\ud83d", "\ude00\ud83d", "\ude01"],
        "\U0001f600\U0001f601",
    ),
    "half a pair, and no more": (["ha \ud83d"], "ha \ufffd"),
    "half a pair, then another text": (["ha \ud83d", "ha"], "ha \ufffdha"),
    "the second half alone": (["\ude00 ha"], "\ufffd ha"),
    "the second half, later": (["ha", "\ude00 ha"], "ha\ufffd ha"),
    "two first halves": (["\ud83d", "\ud83d", "\ude00"], "\ufffd\U0001f600"),
    "halves the wrong way round": (["\ude00", "\ud83d"], "\ufffd\ufffd"),
    "nothing between the halves": (["\ud83d", "", "\ude00"], "\U0001f600"),
    "plain": (["caf\u00e9 ", "\u4f60\u597d \u2028\x00"], "caf\u00e9 \u4f60\u597d \u2028\x00"),
}


@pytest.mark.parametrize(
    ("name", "cut"),
    [
        (name, cut)
        for name in WIRES_OF_TEXT
        for cut in CUT_TEXTS
        if name in ("text", "chat", "anthropic", "gemini", "converse") or cut.startswith("a pair")
    ],
)
def test_a_streamed_text_encodes_however_it_was_cut(site: Site, name: str, cut: str) -> None:
    pieces, text = CUT_TEXTS[cut]
    site.says(say(name, True, *map(Part, pieces)))
    told = site.ask(WIRES[name], stream=True)
    assert told.is_whole(), told
    assert told.texts == {0: text}
    assert by_index(told.reasons) == [["stop"]]
    assert site.event().completion_tokens == 7


@pytest.mark.parametrize("name", WIRES_OF_TEXT)
def test_a_whole_text_encodes(site: Site, name: str) -> None:
    site.says(say(name, False, Part("a \ud83d b \ude00 c \ud83d\ude00")))
    told = site.ask(WIRES[name])
    assert told.is_whole(), told
    assert told.texts == {0: "a \ufffd b \ufffd c \U0001f600"}


@pytest.mark.parametrize("name", ["text", "chat", "gemini"])
def test_two_samples_that_are_cut_by_turns_are_each_put_together(site: Site, name: str) -> None:
    wire = WIRES[name]
    events = [
        wire.event(Part("a\ud83d", index=0)),
        wire.event(Part("b\ud83d", index=1)),
        wire.event(Part("\ude00", index=0)),
        wire.event(Part("\ude01", index=1)),
        wire.event(Part("", wire.stop, 0), Part("", wire.stop, 1)),
    ]
    site.says(wire.stream(*events, wire.event(usage=wire.usage(COUNTS)), wire.mark))
    told = site.ask(wire, stream=True, n=2)
    assert by_index(told.texts) == ["a\U0001f600", "b\U0001f601"]


@BOTH
@pytest.mark.parametrize("junk", [b"\xff", b"\xf0\x9f\x98", b"\xe4\xbd", b"\xc3("])
@pytest.mark.parametrize("name", ["text", "chat", "anthropic", "gemini", "cohere"])
def test_bytes_that_are_no_utf_8_are_replaced(
    site: Site, name: str, junk: bytes, stream: bool
) -> None:
    reply = say(name, stream, Part("ha @@ ha"))
    reply.body = [b.replace(b"@@", junk) if isinstance(b, bytes) else b for b in reply.body]
    site.says(reply)
    told = site.ask(WIRES[name], stream=stream)
    assert told.is_whole(), told
    assert told.texts[0].startswith("ha \ufffd")
    assert told.texts[0].endswith(" ha")


@pytest.mark.parametrize("packet", [1, 2, 3])
def test_a_character_may_be_cut_by_the_network(site: Site, packet: int) -> None:
    wire = WIRES["text"]
    body = wire.event(Part("@@")).replace(b"@@", "caf\u00e9 \U0001f600".encode())
    end = wire.event(Part("", "stop"), usage=wire.usage(COUNTS)) + wire.mark
    site.says(Reply([body + end], 200, SSE, packet=packet))
    assert site.ask(wire, stream=True).texts == {0: "caf\u00e9 \U0001f600"}
