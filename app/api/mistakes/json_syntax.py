"""JSON that does not parse: where, and what to write instead. No I/O.

Nothing of the body is repeated but words of languages, such as `True`.
"""

import re
from collections.abc import Mapping

from app.formats.json_size import DEPTH_LIMIT

#: How much of the text behind the fault is looked at, in characters.
_AHEAD = 32

#: What stands at the fault -> what to write instead.
_TOKENS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"[+-]?(?:NaN|Infinity|inf|nan)\b"),
        "JSON has no `NaN` and no `Infinity`. Leave the field out, or send `null`",
    ),
    (
        re.compile(r"(?:True|False|None)\b"),
        "`True`, `False` and `None` are Python's; JSON has `true`, `false` and `null`. Use "
        "`json.dumps`, or your client's `json=`",
    ),
    (re.compile(r"undefined\b"), "JSON has no `undefined`. Leave the field out, or send `null`"),
    (re.compile(r"//|/\*|#"), "JSON has no comments. Remove them"),
    (re.compile(r"\.\.\.|\u2026"), "`...` stands for what an example leaves out. Write it out"),
    (
        re.compile(r"\+?\.?\d"),
        "a number begins with a sign, a point or a zero. Write `0.5`, or `1`",
    ),
    (re.compile(r"'"), "there is a single quote. JSON has double quotes"),
    (re.compile(r"[\u2018\u2019\u201c\u201d]"), 'there is a typographic quote. JSON has `"`'),
    (
        re.compile(r"`"),
        "there is a backquote, as of Markdown or of JavaScript. JSON has double quotes, and "
        "nothing around it",
    ),
    (
        re.compile(r"[bBrRuUfF]{1,2}['\"]"),
        "there is a letter before a quote, as in Python. Use `json.dumps`, or your client's "
        "`json=`",
    ),
    (re.compile(r"\\"), 'there is a backslash outside of a string. Write `"`, without one'),
    (re.compile(r"\("), "there is a round bracket. JSON has `[...]` around a list"),
    (re.compile(r"\{"), "there is a brace too many, as in a template. Write one"),
    (
        re.compile(
            r"[\x00-\x1f\x7f-\xa0\xad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]"
        ),
        "there is an invisible character, or a special blank, as pages and chats have them. Remove "
        "it",
    ),
    (re.compile(r","), "there is a comma too many, or a value is missing before it"),
    (re.compile(r"[A-Za-z_$]"), "there is a word without quotes, or a quote before it is missing"),
)

#: What stands where a comma or a closing bracket is missing -> what to write instead.
_AFTER_VALUE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"//|/\*|#"), "JSON has no comments. Remove them"),
    (re.compile(r";"), "there is a semicolon. JSON has commas"),
)

#: How the parser's message begins -> what to write instead; the first that matches.
_MESSAGES: Mapping[str, str] = {
    "trailing comma": "there is a trailing comma. Remove it",
    "number with leading zero": "a number begins with a zero. Write it without",
    "number is infinity": "a number is too large",
    "unexpected control character": "a string has a line break, or another control character. "
    "Write it as `\\n`, or close the string with a quote",
    "invalid escaped sequence": "a string has a backslash that escapes nothing. Write `\\\\` for "
    "a backslash, such as in a path of Windows",
    "unexpected end of data": "it ends too early: a bracket or a quote is not closed",
    "unexpected content after document": "there is more after the end of the value. A request is "
    "one JSON object",
    "unexpected character, expected ','": "a comma or a closing bracket is missing, or a quote "
    "before it",
    "unexpected character, expected ':'": "a colon is missing after a name",
    "unexpected character, expected a string key": "a name in double quotes is missing",
    "depth limit exceeded": f"it is nested more than {DEPTH_LIMIT} levels deep",
    "no low surrogate": "a string has half of a character (`\\ud800` to `\\udfff`). Send both",
}
#: Of these messages, what stands at the fault says more.
_COMMA = "unexpected character, expected ','"
_BY_TOKEN = ("unexpected character, expected a", "no digit after", "invalid literal")

_GZIP = b"\x1f\x8b"


def explained(body: bytes, message: str, line: int, column: int, at: int) -> str:
    """Return the sentence about a body that the parser refused, with its message.

    `line` and `column` count from 1; `at` is the character in the body, from 0.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as exc:
        if body.startswith(_GZIP):
            return "The request's body is compressed with gzip. Add `content-encoding: gzip`."
        return f"The request's body is not in UTF-8, from its byte {exc.start + 1} on. Send UTF-8."
    where = f"The request's body is not valid JSON at line {line}, column {column}"
    return f"{where}: {_fault(message, text[at : at + _AHEAD])}."


def _fault(message: str, ahead: str) -> str:
    after = message.startswith(_COMMA)
    if after or message.startswith(_BY_TOKEN):
        for pattern, sentence in _AFTER_VALUE if after else _TOKENS:
            if pattern.match(ahead):
                return sentence
    found = (it for beginning, it in _MESSAGES.items() if message.startswith(beginning))
    return next(found, "this is not what JSON has there")
