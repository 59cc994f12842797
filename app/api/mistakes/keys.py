"""What is wrong with the form of a credential, without looking it up.

The sentences repeat nothing of a credential but its well-known beginning, such as `sk-`. A
credential with the form of a key gets the same sentence whether it is unknown, revoked or expired.
"""

import re
from collections.abc import Mapping

INVALID = "The API key is missing or invalid."

_KEY = re.compile(r"tg_[A-Za-z0-9_-]{43}")

#: What looks like a key, of ours or of another service, within a text.
_SECRET = re.compile(r"(?<![A-Za-z0-9])(tg_|sk-)[A-Za-z0-9_-]{16,}")
_KEY_LENGTH = 46
_FOREIGN = (
    f"{INVALID} A key of Tollgate begins with `tg_`: `tollgate keys create` makes one, on the "
    "operator's machine."
)
_QUOTES = "\"'`\u2018\u2019\u201c\u201d"

#: A variable that is not set, and one that was not replaced.
_UNSET = re.compile(r"(?:undefined|null|none|nil|nan|false|\[object object\])\Z", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"(?:\$\{?\w{1,99}\}?|\$\(.{1,99}\)|%\w{1,99}%|\{\{.{1,99}\}\}|<.{1,99}>"
    r"|\{\w{1,99}\}|\$env:\w{1,99}|(?:process\.env|os\.environ)\b.{0,99}"
    r"|your[-_ ].{1,99}|\w{0,50}_API_KEY)\Z",
    re.IGNORECASE,
)

#: Forms of texts that are no keys, the first one that matches counts -> the sentence.
_FORMS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(rf"[{_QUOTES}]|.{{0,200}}[{_QUOTES}]\Z", re.DOTALL),
        "The API key has quotation marks around it. Send it without them.",
    ),
    (
        _UNSET,
        "The API key is the word `{found}`: a variable of your program is not set.",
    ),
    (
        _PLACEHOLDER,
        "The API key is a placeholder, or a variable that was not replaced. Send its value.",
    ),
    (
        re.compile(r"[{<\[(].{1,200}[}>\])]\Z", re.DOTALL),
        "The API key has brackets around it. Send it without them.",
    ),
    (
        re.compile(r"(?:export\s+)?[a-z_]{0,50}(?:key|token)=(?=.)", re.IGNORECASE),
        "The API key has the name of a variable before it: `{found}`. Send the value alone.",
    ),
    (
        re.compile(r".{0,200}(?:\*\*|\.\.\.|\u2026)", re.DOTALL),
        "The API key is abbreviated, as logs and lists show it. Send the whole key.",
    ),
    (
        re.compile(r"(?:[.~]{0,2}/|var/|[a-z]:\\)[\w./\\-]+\Z", re.IGNORECASE),
        "The API key is the name of a file. Send the file's content.",
    ),
    (
        re.compile(r"(?i:tg)[_-](?<!tg_)|tg%5[Ff]"),
        "The API key does not begin with `tg_`, in lower case and with an underscore: it was "
        "changed on its way. Copy it again.",
    ),
    (
        re.compile(r"\S*\s"),
        "The API key has white space in it. Send it on one line, without blanks.",
    ),
    (
        re.compile(r"[\x21-\x7e]*[^\x21-\x7e]"),
        "The API key has a character that is not ASCII, perhaps an invisible one from a page. Copy "
        "the key again, without it.",
    ),
    (
        re.compile(r"key_[0-9a-f]{20}\Z"),
        "This is a key's id, not the key. The key begins with `tg_`, and was shown once, when it "
        "was made; `tollgate keys rotate` makes a new one.",
    ),
    (
        re.compile(
            r"sk-ant-|sk-or-|sk-|AIza|gsk_|xai-|hf_|r8_|pplx-|fw_|nvapi-|gh[oprsu]_|eyJ|AKIA"
        ),
        "This API key begins with `{found}`: it is another service's. A key of Tollgate begins "
        "with `tg_`. Replace the other service's key if it is real.",
    ),
)

_SCHEME = re.compile(r"bearer(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)

#: Headers and query parameters that other services read a key from.
OTHER_HEADERS = (
    "api-key",
    "apikey",
    "authorisation",
    "ocp-apim-subscription-key",
    "openai-api-key",
    "proxy-authorization",
    "x-apikey",
    "x-auth-token",
    "x-authorization",
    "x-goog-api-key",
    "x-litellm-api-key",
    "x-openai-api-key",
    "x-portkey-api-key",
    "x-tollgate-key",
)
QUERY_NAMES = ("api_key", "api-key", "apikey", "key", "token", "access_token", "x-api-key")

#: Schemes of `authorization` that other services have.
_OTHER_SCHEME = re.compile(
    r"(token|api-?key|key|digest|negotiate|aws4-hmac-sha256)(?=[\s:=])", re.I
)

_HOW = "Send the key as `x-api-key: tg_...` or `Authorization: Bearer tg_...`."


def is_key(credential: str) -> bool:
    """Whether a text has the form of a key."""
    return _KEY.fullmatch(credential) is not None


def is_placeholder(text: str) -> bool:
    """Whether a text stands for a value: a variable that was not replaced, or is not set."""
    return any(pattern.match(text) for pattern in (_UNSET, _PLACEHOLDER))


def hidden(text: str) -> str:
    """Return the text with what looks like a key replaced by its beginning and `***`."""
    return _SECRET.sub(r"\1***", text)


def problem(headers: Mapping[str, str], query: Mapping[str, str]) -> str:
    """Return the sentence about a request without a valid key.

    The names of `headers` are in lower case.
    """
    named, authorization = headers.get("x-api-key"), headers.get("authorization")
    for text in _texts(named, authorization):
        if is_key(text):
            return INVALID
    if named is not None:
        return _of_text(named.strip(), "x-api-key")
    if authorization is not None:
        return _of_authorization(authorization.strip())
    return _elsewhere(headers, query)


def of_text(text: str) -> str:
    """Return the sentence about a credential that was entered by itself."""
    return INVALID if is_key(text) else _of_text(text, None)


def _texts(named: str | None, authorization: str | None) -> list[str]:
    """Return the credentials that are tried."""
    found = [part.strip() for part in (named or "").split(",")]
    for part in (authorization or "").split(","):
        if (given := _SCHEME.fullmatch(part.strip())) and given[1]:
            found.append(given[1].strip())
    return found


def _of_authorization(value: str) -> str:
    given = _SCHEME.fullmatch(value)
    if given is not None:
        text = (given[1] or "").strip()
        if _SCHEME.fullmatch(text) and text:
            return "The header `authorization` has `Bearer` twice. Leave one out."
        return _of_text(text, "authorization")
    if is_key(value.strip(_QUOTES)):
        return "The header `authorization` lacks `Bearer` and a space before the key."
    if found := _of_scheme(value):
        return f"{found} {_HOW}"
    wrong = _form(value) or _FOREIGN
    return f"{wrong} The header `authorization` also lacks `Bearer` before the key."


def _of_scheme(value: str) -> str | None:
    """Return the sentence on an `authorization` of another scheme; None if it has none."""
    if value.lower().startswith("basic "):
        return "Tollgate does not support Basic authentication."
    if other := _OTHER_SCHEME.match(value):
        return f"The scheme of `authorization` is `Bearer`, not `{other[1]}`."
    if re.match(r"bearer\s*[:=]", value, re.IGNORECASE):
        return "The header `authorization` has a sign after `Bearer`."
    if not value or " " in value:
        return "The header `authorization` has no API key."
    return None


def _of_text(text: str, header: str | None) -> str:
    where = f"The header `{header}`" if header else "The field"
    if not text:
        return f"{where} is there, but has no API key: it is empty."
    if header == "x-api-key" and _SCHEME.fullmatch(text):
        return "The header `x-api-key` takes the key alone. Leave out `Bearer`."
    return _form(text) or _FOREIGN


def _form(text: str) -> str | None:
    """Return what is wrong with a text in the place of a key; None if it resembles nothing."""
    for pattern, sentence in _FORMS:
        if found := pattern.match(text):
            return sentence.replace("{found}", found[0])
    return _of_own(text) if text.startswith("tg_") else None


def _of_own(text: str) -> str:
    length = len(text)
    if length != _KEY_LENGTH:
        kind = "too short" if length < _KEY_LENGTH else "too long"
        return f"The API key is {kind}: it has {length} characters, and a key has {_KEY_LENGTH}."
    return "The API key has a character that no key has. Copy it again."


def _elsewhere(headers: Mapping[str, str], query: Mapping[str, str]) -> str:
    for name in OTHER_HEADERS:
        if name in headers:
            return f"Tollgate does not read the header `{name}`. {_HOW}"
    lowered = {name.lower() for name in query}
    for name in QUERY_NAMES:
        if name in lowered:
            return (
                f"Tollgate reads no key from the query (`{name}`), because logs keep queries. "
                f"{_HOW} Replace this key if it is real."
            )
    return f"The request has no API key. {_HOW}"
