"""Bodies that a caller might send, by a pair of dice: sound ones, odd ones and hostile ones."""

import gzip
import json
import random
import zlib
from collections.abc import Callable
from typing import Any

#: Near the default limit of a body, in bytes.
LARGE_BYTES = 10 * 1024 * 1024

#: Values that hardly any field takes.
ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    0.5,
    1e308,
    2**63,
    2**64,
    "",
    "x",
    "\0",
    "\ud800",
    [],
    {},
    [[]],
]

_FIELDS = (
    *("model", "prompt", "best_of", "echo", "frequency_penalty", "logit_bias", "logprobs"),
    *("max_tokens", "n", "presence_penalty", "seed", "stop", "stream", "stream_options"),
    *("suffix", "temperature", "top_p", "user", "messages", "extra", "x" * 300),
)

#: What a text of one value repeated is made of: its opening, the value, and its end.
_REPEATED = (
    ("[", "[],", "0]"),
    ("[", "{},", "0]"),
    ("[", '"",', "0]"),
    ("[", '"ab\\n",', "0]"),
    ("[", "1,", "0]"),
    ("[", "1.5e3,", "0]"),
    ("[", "null,", "0]"),
    ("[", "-0,", "0]"),
    ("[", "[[[[]]]],", "0]"),
    ("{", '"k":1,', '"z":0}'),
    ('"', "x", '"'),
    ('"', '\\"', '"'),
    ('"', "\\\\", '"'),
    ('"', "\\u00e9", '"'),
    ('"', "[{,:", '"'),
    ("", "[", ""),
    ("", '{"a":', ""),
    ("", "9", ""),
    ("1e", "9", ""),
)


def body(dice: random.Random, tag: str) -> bytes:
    """Return a body; one that asks for a completion asks for it as the user `tag`."""
    return dice.choice(_KINDS)(dice, tag)


def coded(dice: random.Random, raw: bytes) -> tuple[list[str], bytes]:
    """Return headers that name a coding, and the body in it; the two may not agree."""
    if dice.random() < 0.7:
        return [], raw
    names = dice.choices(
        ["gzip", "deflate", "identity", "br", "x-gzip", ""], k=dice.randrange(1, 4)
    )
    for name in names:
        if "gzip" in name:
            raw = gzip.compress(raw, 1)
        elif name == "deflate":
            raw = zlib.compress(raw, 1)
    harm = dice.random()
    if harm < 0.2:
        raw = raw[: dice.randrange(len(raw) + 1)]
    elif harm < 0.3:
        raw += dice.randbytes(dice.randrange(40))
    elif harm < 0.35:
        names = ["gzip"]
        raw = gzip.compress(b"") * dice.randrange(1, 100_000)
    elif harm < 0.4:
        names, raw = ["gzip", "gzip"], gzip.compress(gzip.compress(b" " * 100 * LARGE_BYTES, 1))
    return [f"content-encoding: {', '.join(names)}"], raw


def _sound(dice: random.Random, tag: str) -> dict[str, Any]:
    asked: dict[str, Any] = {"model": "sim/m", "prompt": "one two three", "user": tag}
    if dice.random() < 0.5:
        asked["stream"] = True
    if dice.random() < 0.3:
        asked["n"] = dice.randrange(1, 5)
    if dice.random() < 0.3:
        asked["prompt"] = ["a", "b c"] * dice.randrange(1, 20)
    return asked


def _plain(dice: random.Random, tag: str) -> bytes:
    return json.dumps(_sound(dice, tag)).encode()


def _odd_field(dice: random.Random, tag: str) -> bytes:
    asked = _sound(dice, tag)
    asked[dice.choice(_FIELDS)] = dice.choice(ODD)
    return json.dumps(asked).encode()


def _mutated(dice: random.Random, tag: str) -> bytes:
    raw = bytearray(_plain(dice, tag))
    for _ in range(dice.randrange(1, 8)):
        at = dice.randrange(len(raw))
        raw[at : at + dice.randrange(3)] = dice.randbytes(dice.randrange(4))
    return bytes(raw)


def _repeated(dice: random.Random, tag: str) -> bytes:
    opening, piece, end = dice.choice(_REPEATED)
    count = int(LARGE_BYTES ** dice.uniform(0.2, 1.0)) // len(piece)
    value = opening + piece * count + end
    name = dice.choice(("prompt", "extra", "logit_bias", "stop", "suffix"))
    rest = json.dumps(_sound(dice, tag))[1:]
    return f'{{"{name}":{value},{rest}'.encode()


def _tokens(dice: random.Random, tag: str) -> bytes:
    asked = _sound(dice, tag)
    asked["prompt"] = [dice.randrange(200_000)] * int(1_200_000 ** dice.uniform(0.3, 1.0))
    if dice.random() < 0.2:
        asked["prompt"][-1] = "x"
    return json.dumps(asked, separators=(",", ":")).encode()


def _biases(dice: random.Random, tag: str) -> bytes:
    count = int(300_000 ** dice.uniform(0.3, 1.0))
    return json.dumps(
        _sound(dice, tag) | {"logit_bias": {str(at): 1 for at in range(count)}}
    ).encode()


def _text(dice: random.Random, tag: str) -> bytes:
    words = ["word ", 'a "quoted" one ', "{[,:]} ", "\u00e9\U0001f600", "\n\t\\"]
    prompt = dice.choice(words) * int(1_000_000 ** dice.uniform(0.3, 1.0))
    return json.dumps(_sound(dice, tag) | {"prompt": prompt[: LARGE_BYTES // 4]}).encode()


def _noise(dice: random.Random, _tag: str) -> bytes:
    return dice.choice((b"", b"\xef\xbb\xbf{}", "{}".encode("utf-16"), dice.randbytes(200), b"\0"))


_KINDS: tuple[Callable[[random.Random, str], bytes], ...] = (
    *(_plain, _plain, _plain, _odd_field, _odd_field, _mutated),
    *(_repeated, _repeated, _tokens, _biases, _text, _noise),
)
