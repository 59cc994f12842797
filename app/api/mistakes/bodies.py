"""A body that is no JSON object: what it is instead. No I/O; nothing of the body is repeated."""

import json
import re

_JSON = "Send a JSON object with `content-type: application/json`."

#: How much of a body is looked at.
_HEAD_BYTES = 256

_FORM = re.compile(rb"[\w.\[\]%+-]{1,64}=[^{}\"\n]*")
_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)

#: Beginnings of a body -> what it is.
_BEGINNINGS: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (
        re.compile(rb"\s*\Z"),
        f"The request's body is empty. {_JSON}",
    ),
    (
        re.compile(rb"--[^\r\n]{1,200}\r?\n"),
        f"The request's body is a multipart form. {_JSON}",
    ),
    (
        re.compile(rb"\xef\xbb\xbf"),
        "The request's body begins with a byte-order mark. Send UTF-8 without one.",
    ),
    (
        re.compile(rb"\xff\xfe\0\0|\0\0\xfe\xff|[{\[]\0\0\0|\0\0\0[{\[]"),
        "The request's body is in UTF-32. Send UTF-8.",
    ),
    (
        re.compile(rb"\xff\xfe|\xfe\xff|[{\[]\x00|\x00[{\[]"),
        "The request's body is in UTF-16. Send UTF-8.",
    ),
    (
        re.compile(rb"'\s*\{"),
        "The request's body begins with a single quote, which a shell did not remove: Windows' "
        'command line quotes with `"`.',
    ),
    (
        re.compile(rb"\s*\{\s*'"),
        "The request's body has single quotes, as Python prints a dict. JSON has double quotes: "
        "use `json.dumps`, or your client's `json=`.",
    ),
    (
        re.compile(rb"\s*\{\s*\w+\s*:"),
        "The request's body has names without quotes. JSON has double quotes around names.",
    ),
    (
        re.compile("\\s*\\{\\s*[\u201c\u201d\u2018\u2019]".encode()),
        "The request's body has typographic quotes. JSON has plain double quotes.",
    ),
    (
        re.compile(rb"(?:data|event):[ ]?"),
        f"The request's body is an event stream, which only answers are. {_JSON}",
    ),
    (
        re.compile(rb"\s*@[\w./-]"),
        "The request's body is the name of a file. With curl, write `--data @FILE`.",
    ),
    (
        re.compile(rb"\s*<"),
        f"The request's body is XML or HTML. {_JSON}",
    ),
)


def problem(body: bytes, content_type: str) -> str | None:
    """Return the sentence on a body that is no JSON object; None if it resembles nothing."""
    head = body[:_HEAD_BYTES]
    for pattern, sentence in _BEGINNINGS:
        if pattern.match(head):
            return sentence
    kind = content_type.partition(";")[0].strip().lower()
    if _FORM.match(head) and b"{" not in head:
        return f"The request's body is a form (`name=value`). {_JSON}"
    if head.lstrip()[:1] == b'"':
        return _string(body)
    if head.lstrip()[:1] == b"[":
        return f"The request's body is an array. One request is one object. {_JSON}"
    if head.lstrip()[:1] != b"{" and kind != "application/json" and _TYPE.fullmatch(kind):
        return f"The request's body is not JSON; its content type is `{kind[:64]}`. {_JSON}"
    return None


def _string(body: bytes) -> str | None:
    """Return the sentence on a body that is a string: often JSON that was encoded twice."""
    try:
        inner = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if isinstance(inner, str) and inner.lstrip()[:1] == "{":
        return "The request's body is JSON that was encoded twice: a string that has the object."
    return f"The request's body is a string. {_JSON}"
