"""Whole requests by a pair of dice: their line, their headers, and how their body is framed."""

import random
from urllib.parse import quote

from tests.fuzz.bodies import body, coded
from tests.fuzz.conversations import conversation
from tests.fuzz.wire import chunked

_PATHS = (
    *("/livez", "/readyz", "/metrics", "/v5/models", "/v5/models/sim/m", "/v5/models/sim%2F*"),
    *("/v5/chat/completions", "/v5/chat/completions/models", "/v5/responses"),
    *("/v5/organization/usage/completions", "/v5/organization/costs", "/dashboard", "/docs"),
    *("/dashboard/sign-in", "//v5/completions", "/v5//completions/", "/nowhere", "/%00", "/../x"),
    *("/v5/completions/", "http://x/v5/completions", "/dashboard/static/charts.js", "*"),
)
_METHODS = ("GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "TRACE", "CONNECT", "BREW")
_GROUPS = ("project_id", "user_id", "api_key_id", "model", "batch", "service_tier", "nothing")
_HEADERS = (
    *("script_name: /x", "x-forwarded-for: 1.2.3.4", "x-forwarded-proto: https", "te: trailers"),
    *("connection: close", "connection: keep-alive, upgrade", "upgrade: h2c", "host: other"),
    *("expect: 100-continue", "expect: what", "cookie: tollgate=" + "c" * 3000),
    "cookie: " + "a=b; " * 1000,
    *("traceparent: 00-zz", "x-selected-account-id: acme", "x-selected-account-id: nobody"),
    *("content-type: application/x-www-form-urlencoded", "content-type: multipart/form-data"),
    *("authorization: Bearer sk-foreign", "authorization: Basic eDp5", "x-api-key: tg_wrong"),
    *("accept-encoding: gzip", "x-long: " + "y" * 7000, "range: bytes=0-1", "x_under: score"),
)
_BROKEN = ("no colon", ": nameless", "x y: z", "x-nul: \0", " folded: x", "x-api-key: \xff\xfe")


def hostile(dice: random.Random, api_key: str, tag: str) -> bytes:
    """Return one request, which may be in order."""
    if dice.random() < 0.25:
        return _elsewhere(dice, api_key)
    path, made = (
        ("completions", body) if dice.random() < 0.6 else ("chat/completions", conversation)
    )
    headers, raw = coded(dice, made(dice, tag))
    framing, raw = _framed(dice, raw)
    lines = [*_headers(dice, api_key), *headers, *framing]
    version = "1.0" if dice.random() < 0.1 and "chunked" not in str(framing) else "1.1"
    return _joined(f"POST /v5/{path} HTTP/{version}", lines) + raw


def is_broken(request: bytes) -> bool:
    """Whether a request may leave its server waiting for more, or has no answer of its own."""
    head = request.partition(b"\r\n\r\n")[0].lower()
    return any(mark in head for mark in (b"\r\nx-lies:", b"connect ", b"head "))


def _elsewhere(dice: random.Random, api_key: str) -> bytes:
    path = dice.choice(_PATHS)
    if "organization" in path:
        groups = [f"group_by[]={dice.choice(_GROUPS)}" for _ in range(dice.randrange(30))]
        path += f"?start_time={dice.randrange(2 * 10**9)}&" + "&".join(groups)
    elif dice.random() < 0.3:
        path += "?" + quote(dice.randbytes(dice.randrange(2000)))
    raw = b"next=x&api_key=" + b"k" * dice.randrange(30_000) if dice.random() < 0.3 else b""
    length = [f"content-length: {len(raw)}"] if raw else []
    line = f"{dice.choice(_METHODS)} {path} HTTP/1.1"
    return _joined(line, [*_headers(dice, api_key), *length]) + raw


def _headers(dice: random.Random, api_key: str) -> list[str]:
    lines = ["host: tollgate"]
    if dice.random() < 0.9:
        lines.append(f"x-api-key: {api_key}")
    lines += dice.sample(_HEADERS, dice.choice((0, 0, 0, 1, 2, 5)))
    if dice.random() < 0.1:
        lines.append(f"idempotency-key: {dice.choice(('once', 'x' * 300, str(dice.random())))}")
    if dice.random() < 0.05:
        lines.append(dice.choice(_BROKEN))
    if dice.random() < 0.02:
        lines += [f"x-{at}: y" for at in range(dice.randrange(300))]
    return lines


def _framed(dice: random.Random, raw: bytes) -> tuple[list[str], bytes]:
    """Return the headers that frame a body, and its bytes; `x-lies` marks what is not so."""
    length, kind = f"content-length: {len(raw)}", dice.random()
    if kind < 0.6:
        return [length], raw
    if kind < 0.85:
        size = int(max(1, len(raw)) ** dice.uniform(0.2 if len(raw) < 100_000 else 0.5, 1.0))
        extension = dice.choice((b"", b"", b";a=b", b";x=" + b"y" * 500))
        return ["transfer-encoding: chunked"], chunked(raw, size, extension)
    wrong = (
        ["content-length: 5", "content-length: 7"],
        [length, "transfer-encoding: chunked"],
        ["transfer-encoding: gzip"],
        ["transfer-encoding: chunked, chunked"],
        [f"content-length: {len(raw) + dice.randrange(1, 99)}"],
        [f"content-length: {max(0, len(raw) - dice.randrange(1, 99))}"],
        ["content-length: -1"],
        ["content-length: 99999999999999999999"],
        ["transfer-encoding: chunked"],
    )
    return [*dice.choice(wrong), "x-lies: 1"], raw


def _joined(line: str, headers: list[str]) -> bytes:
    return "\r\n".join([line, *headers, "", ""]).encode("latin-1")
