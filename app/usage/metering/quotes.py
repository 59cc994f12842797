"""Replaces the parts of a request's prompts that a vendor quotes in an error. No I/O.

A vendor may quote them in its own way: as JSON in JSON, with other white space, in lower case, or
as token ids. So texts are compared as they are, and as `_Plain` text.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import groupby

from app.vocabulary.request import GenerationRequest

#: A part of a prompt is replaced from this length on, in characters; shorter ones are words that
#: the prompt and the vendor's sentence may both have.
QUOTE_LENGTH = 16

#: What replaces a part of a prompt.
QUOTE = "[prompt]"

#: How many characters of the prompts are searched, from the first one on; of a prompt that is
#: longer, its beginning and its end. A search of megabytes would hold up other requests.
SEARCHED = 200_000

#: What stands for a character: escapes of Python, JSON and HTML, in any depth.
_CHARACTER = r"""
    \\+(?-i:U)000([0-9a-f]{5}) | \\+x([0-9a-f]{2})
    | \\+u([0-9a-f]{4}) (?: \\+u(d[c-f][0-9a-f]{2}) )? | \\+
    | &(?:\#[0-9]{1,7} | \#x[0-9a-f]{1,6} | [a-z]{2,8});
"""
_FLAGS = re.VERBOSE | re.DOTALL | re.IGNORECASE
_ESCAPE = re.compile(rf"\\+[nrtfv] | {_CHARACTER}", _FLAGS)
_UNIT = re.compile(rf"(?:\\+[nrtfv] | [\s,])+ | {_CHARACTER} | .", _FLAGS)


@dataclass(frozen=True, slots=True)
class _Plain:
    """A text without escapes, in one case, its white space and commas as single spaces.

    `spans` has where each character begins and ends in the text.
    """

    text: str
    spans: Sequence[tuple[int, int]]


def without_quotes(message: str, request: GenerationRequest) -> str:
    """Return the message with every part that it shares with a prompt or the suffix replaced.

    A part has at least QUOTE_LENGTH characters. At most SEARCHED characters are searched.
    """
    plain, quoted = _plain(message), set[int]()
    for prompt in _searched(request):
        for at in _shared(message, prompt):
            quoted.update(range(at, at + QUOTE_LENGTH))
        for at in _shared(plain.text, _plain_text(prompt)):
            begin, end = plain.spans[at][0], plain.spans[at + QUOTE_LENGTH - 1][1]
            quoted.update(range(begin, end))
    parts = groupby(enumerate(message), lambda it: it[0] in quoted)
    return "".join(QUOTE if is_quoted else "".join(c for _, c in part) for is_quoted, part in parts)


def _searched(request: GenerationRequest) -> Iterator[str]:
    left = SEARCHED
    for prompt in request.quotable:
        if left < QUOTE_LENGTH:
            return
        text = _text(prompt[:left])
        if len(prompt) > left:
            half = left // 2
            text = f"{_text(prompt[:half])}\0{_text(prompt[-half:])}"
        yield text
        left -= len(prompt)


def _text(prompt: str | Sequence[int]) -> str:
    return prompt if isinstance(prompt, str) else " ".join(map(str, prompt))


def _plain(message: str) -> _Plain:
    characters, spans = [], []
    for found in _UNIT.finditer(message):
        for character in _meant(found):
            characters.append(character)
            spans.append(found.span())
    return _Plain("".join(characters), spans)


def _plain_text(prompt: str) -> str:
    """Return the text of `_plain(prompt)`, which may be many megabytes."""
    prompt = _ESCAPE.sub(_meant, prompt)
    return " ".join(prompt.casefold().replace(",", " ").split())


def _meant(found: re.Match[str]) -> str:
    """Return what a unit stands for."""
    unit = found[0]
    if number := found[1] or found[2]:
        return chr(int(number, 16)).casefold()
    if found[3]:
        code = bytes.fromhex(found[3] + (found[4] or ""))
        return code.decode("utf-16-be", "replace").casefold()
    if unit[0] == "&" and len(unit) > 1:
        return unescape(unit).casefold()
    if unit[0].isspace() or unit[0] == "," or (unit[0] == "\\" and len(unit.strip("\\")) > 0):
        return " "
    return "" if unit[0] == "\\" else unit.casefold()


def _shared(message: str, prompt: str) -> Iterator[int]:
    """Yield where parts of the message begin that are QUOTE_LENGTH long and in the prompt.

    A long prompt is searched for few of them: each contains an aligned piece of half the length.
    """
    half = QUOTE_LENGTH // 2
    pieces = {at for at in range(0, len(message), half) if message[at : at + half] in prompt}
    for at in range(len(message) - QUOTE_LENGTH + 1):
        if -(-at // half) * half in pieces and message[at : at + QUOTE_LENGTH] in prompt:
            yield at
