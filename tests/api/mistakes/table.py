"""Mistakes that callers make, and what each answer must say: the table of `test_table`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

TEXT, CHAT = "/v5/completions", "/v5/chat/completions"

#: A good request to each endpoint.
ASK: Mapping[str, dict[str, Any]] = {
    TEXT: {"model": "sim/m", "prompt": "hi"},
    CHAT: {"model": "sim/m", "messages": [{"role": "user", "content": "hi"}]},
}

OPENAI = {"user-agent": "OpenAI/Python 3.57.0", "x-stainless-lang": "python"}
OPENAI_JS = {"user-agent": "OpenAI/JS 6.1.0", "x-stainless-lang": "js"}
AZURE = {"user-agent": "AzureOpenAI/Python 3.57.0", "x-stainless-lang": "python"}
SCALE = {"user-agent": "SGPClient/Python 0.7.0", "x-stainless-lang": "python"}
RENAMED = {"user-agent": "my-program/1.0", "x-stainless-lang": "python"}

#: It looks like a key of Tollgate's.
UNKNOWN = f"tg_{'x' * 43}"


@dataclass(frozen=True)
class Mistake:
    """A request, and its answer: the message has all of `says` and none of `never`.

    `{root}` in `says` is the scheme and the host. A `key` is added to the headers unless the
    mistake is about it. `body` is JSON, or bytes as they are.
    """

    name: str
    status: int
    code: str | None
    says: tuple[str, ...]
    path: str = TEXT
    body: Any = None
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    never: tuple[str, ...] = ()
    param: str | None = None
    sends_key: bool = True
    #: Headers that the answer must have.
    answers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.name} {self.path}"


def lost(name: str, path: str, *says: str, method: str = "POST", **more: Any) -> Mistake:
    """Return a request to a path that does not exist."""
    return Mistake(name, 404, "not_found", says, path, {}, method, **more)


PATHS = [
    lost("no v5", "/completions", "`{root}/v5`", "`POST /v5/completions`", headers=OPENAI),
    lost("no v5, chat", "/chat/completions", "`{root}/v5`", f"`POST {CHAT}`", headers=OPENAI),
    lost("v1", "/v1/completions", "`{root}/v5`", "OpenAI's client", headers=OPENAI),
    lost("v1, curl", "/v1/completions", "`{root}/v5`", "`POST /v5/completions`"),
    lost("v1, chat", "/v1/chat/completions", "`baseURL` `{root}/v5`", headers=OPENAI_JS),
    lost("v5 twice", "/v5/v5/completions", "`base_url` `{root}`.", "Scale's", headers=SCALE),
    lost("v5 twice, chat", "/v5/v5/chat/completions", f"`POST {CHAT}`", "`{root}`.", headers=SCALE),
    lost("v5 twice, OpenAI", "/v5/v5/completions", "`base_url` `{root}/v5`.", headers=OPENAI),
    lost("renamed client", "/v1/completions", "OpenAI's client", "`{root}/v5`", headers=RENAMED),
    lost("Azure's path", "/openai/deployments/gpt-4o/chat/completions", "`OpenAI`", headers=AZURE),
    lost("upper case", "/V5/Completions", "`POST /v5/completions`"),
    lost("singular", "/v5/completion", "Did you mean `POST /v5/completions`"),
    lost("half a path", "/v5/chat", f"`POST {CHAT}`"),
    lost("responses", "/v5/responses", "no Responses API", f"`POST {CHAT}`", f"`POST {TEXT}`"),
    lost("embeddings", "/v5/embeddings", "no embeddings", f"`POST {TEXT}`", headers=OPENAI),
    lost("inference", "/v5/inference", f"`POST {CHAT}`", f"`POST {TEXT}`", headers=SCALE),
    lost("messages", "/v1/messages", "Anthropic", f"`POST {CHAT}`"),
    lost("the base", "/v5", f"POST {CHAT}`", "GET /v5/models`", method="GET"),
    lost("models", "/v1/models", "`GET /v5/models`", method="GET", headers=OPENAI),
    lost("health", "/healthz", "`GET /livez`", method="GET"),
    lost("nothing like it", "/nowhere", "`{root}/docs`", f"POST {TEXT}`", method="GET"),
    lost("no text", "/%ff%fe", "`{root}/docs`", method="GET"),
    Mistake("GET", 405, "method_not_allowed", ("takes POST, not GET", "JSON"), method="GET"),
    Mistake("GET", 405, "method_not_allowed", ("takes POST, not GET",), CHAT, method="GET"),
    Mistake("DELETE", 405, "method_not_allowed", ("takes POST, not DELETE",), method="DELETE"),
    Mistake("POST", 405, "method_not_allowed", ("takes GET, not POST",), "/v5/models", {}),
    Mistake("POST", 405, "method_not_allowed", ("takes GET, not POST",), "/", {}),
]


def keyless(name: str, *says: str, query: str = "", **headers: str) -> Iterator[Mistake]:
    """Yield a request with a wrong key to each endpoint."""
    named = {header.replace("_", "-"): value for header, value in headers.items()}
    secrets = tuple(value for value in headers.values() if len(value) > 20)
    for path in ASK:
        yield Mistake(
            name,
            401,
            "invalid_api_key",
            says,
            path + query,
            ASK[path],
            headers=named,
            never=secrets,
            sends_key=False,
            answers={"www-authenticate": 'Bearer realm="tollgate"'},
        )


KEYS = [
    *keyless("no key", "has no API key", "x-api-key"),
    *keyless("Bearer alone", "`authorization`", "empty", authorization="Bearer"),
    *keyless("empty key", "`x-api-key`", "empty", x_api_key=""),
    *keyless("quotes", "quotation marks", authorization=f'Bearer "{UNKNOWN}"'),
    *keyless("quotes, bare", "quotation marks", x_api_key=f"'{UNKNOWN}'"),
    *keyless("blank inside", "white space", x_api_key=f"{UNKNOWN[:20]} {UNKNOWN[20:]}"),
    *keyless("$KEY", "variable", authorization="Bearer $KEY"),
    *keyless("${KEY}", "variable", x_api_key="${TOLLGATE_KEY}"),
    *keyless("placeholder", "placeholder", x_api_key="<your key>"),
    *keyless("undefined", "`undefined`", "not set", authorization="Bearer undefined"),
    *keyless("no Bearer", "lacks `Bearer`", authorization=UNKNOWN),
    *keyless("Bearer twice", "twice", authorization=f"Bearer Bearer {UNKNOWN}"),
    *keyless("Bearer in x-api-key", "Leave out `Bearer`", x_api_key=f"Bearer {UNKNOWN}"),
    *keyless("OpenAI's", "`sk-`", "`tg_`", authorization=f"Bearer sk-proj-{'a' * 40}"),
    *keyless("Anthropic's", "`sk-ant-`", x_api_key=f"sk-ant-api03-{'a' * 40}"),
    *keyless("Google's", "`AIza`", x_api_key=f"AIza{'a' * 35}"),
    *keyless("a key's id", "id", "`tollgate keys rotate`", x_api_key=f"key_{'0' * 20}"),
    *keyless("in the query", "query", "`x-api-key:", query=f"?api_key={UNKNOWN}"),
    *keyless("in api-key", "`api-key`", "`x-api-key:", api_key=UNKNOWN),
    *keyless("in x-goog-api-key", "`x-goog-api-key`", x_goog_api_key=UNKNOWN),
    *keyless("cut short", "too short", "20 characters", x_api_key=UNKNOWN[:20]),
    *keyless("too long", "too long", x_api_key=UNKNOWN + "x"),
    *keyless("unknown", "The API key is missing or invalid.", x_api_key=UNKNOWN),
    *keyless("Basic", "Basic", authorization="Basic dXNlcjpwYXNzd29yZA=="),
]


def unread(name: str, raw: bytes, *says: str, kind: str = "application/json") -> Iterator[Mistake]:
    """Yield a body that is no JSON object to each endpoint."""
    for path in ASK:
        yield Mistake(
            name, 400, "invalid_json", says, path, raw, headers={"content-type": kind},
            never=("secret",),
        )  # fmt: skip


FORM = "application/x-www-form-urlencoded"
BODIES = [
    *unread("empty", b"", "empty", "`content-type: application/json`"),
    *unread("form", b"model=sim/m&prompt=secret", "form", "application/json", kind=FORM),
    *unread("form, wrong type", b"model=sim/m&prompt=secret", "form"),
    *unread("multipart", b"--b\r\nx: y\r\n\r\nsecret", "multipart", kind="multipart/form-data"),
    *unread("xml", b"<prompt>secret</prompt>", "XML", kind="text/xml"),
    *unread("words", b"tell me a secret", "`text/plain`", kind="text/plain"),
    *unread("dict", b"{'model': 'sim/m', 'prompt': 'secret'}", "single quotes", "json.dumps"),
    *unread("bare names", b"{model: 'sim/m'}", "names without quotes"),
    *unread("trailing comma", b'{"model": "sim/m", "prompt": "secret",}', "trailing comma"),
    *unread("encoded twice", b'"{\\"model\\": \\"sim/m\\"}"', "encoded twice"),
    *unread("string", b'"secret"', "string"),
    *unread("array", b'[{"model": "sim/m"}]', "array"),
    *unread("byte-order mark", b'\xef\xbb\xbf{"model": "sim/m"}', "byte-order mark"),
    *unread("UTF-16", '{"model": "sim/m"}'.encode("utf-16-le"), "UTF-16"),
    *unread("file's name", b"@request.json", "file", "--data"),
    *unread("shell's quote", b"'{model: sim/m}'", "quote"),
    *unread("typographic", "{\u201cmodel\u201d: 1}".encode(), "typographic"),
    *unread("cut", b'{"model": "sim/m", "prompt": "secr', "not valid JSON"),
]


def asked(
    name: str, status: int, code: str | None, *says: str, paths: tuple[str, ...] = (TEXT, CHAT),
    param: str | None = None, answers: Mapping[str, str] | None = None, **fields: Any,
) -> Iterator[Mistake]:  # fmt: skip
    """Yield a request with these fields to each endpoint."""
    for path in paths:
        body = {**ASK[path], **fields}
        yield Mistake(name, status, code, says, path, body, param=param, answers=answers or {})


def model(name: str, status: int, code: str, *says: str) -> Iterator[Mistake]:
    """Yield a request for a wrong model to each endpoint."""
    return asked(f"model {name!r}", status, code, *says, param="model", model=name)


MODELS = [
    *model("opnai/gpt-4o", 404, "model_not_found", "Did you mean `openai`?"),
    *model("Sandbox/echo", 404, "model_not_found", "Did you mean `sandbox`?"),
    *model("google/gemini-2.5-pro", 404, "model_not_found", "Did you mean `gemini`?"),
    *model("claude/claude-opus-4", 404, "model_not_found", "Did you mean `anthropic`?"),
    *model("zzz/m", 404, "model_not_found", "Vendors:"),
    *model("gpt-4o", 400, "invalid_value", "`openai/gpt-4o`?"),
    *model("claude-opus-4", 400, "invalid_value", "`anthropic/claude-opus-4`?"),
    *model("echo?words=3", 400, "invalid_value", "`sandbox/echo?words=3`?"),
    *model("openai:gpt-4o", 400, "invalid_value", "`openai/gpt-4o`?"),
    *model(" sim/m", 400, "invalid_value", "`sim/m`?"),
    *model("keyless/m", 404, "model_not_found", "NO_SUCH_KEY"),
    *model("sim/*", 404, "model_not_found", "several models", "that `sim` has for a model"),
    *asked("no model", 400, "missing_required_parameter", "`model` is required", model=None,
           param="model"),
    *asked("model 5", 400, "invalid_type", "`model` must be a string", model=5, param="model"),
]  # fmt: skip

SANDBOX = "sandbox/echo"
MESSAGES = [{"role": "user", "content": "hi"}]
FIELDS = [
    *asked("several faults", 400, "invalid_type", "`temperature`", "Also: ", "`top_p`",
           "`seed`", temperature=3, top_p="x", seed=1.5, param="seed"),
    *asked("stream as text", 400, "invalid_type", "true or false", stream="true", param="stream"),
    *asked("n", 400, "invalid_value", "from 1 to 128", n=0, param="n"),
    *asked("stop", 400, "unsupported_parameter", "at most 4", stop=list("abcde"), param="stop"),
    *asked("stream_options", 400, "invalid_value", "`stream`", stream_options={},
           param="stream_options"),
    *asked("foreign wire", 400, "unsupported_parameter", "`temprature`", "`temperature`?",
           "Also: ", "`prompt`?", model="foreign/m", temprature=1, promt="x", param="temprature"),
    *asked("sandbox", 400, "unknown_parameter", "`temprature`", "`temperature`?", model=SANDBOX,
           temprature=1, param="temprature"),
    *asked("sandbox, several", 400, "unknown_parameter", "`maxtokens` is", "`max_tokens`?",
           "Also: ", "`colour`", model=SANDBOX, maxtokens=1, colour="red", param="colour"),
    *asked("knob", 400, "invalid_value", "`delay`", "`delay_ms`?", model=f"{SANDBOX}?delay=3",
           param="model"),
    *asked("knob's value", 400, "invalid_value", "whole number", model=f"{SANDBOX}?words=x",
           param="model"),
    *asked("sandbox's model", 404, "model_not_found", "only `echo`", model="sandbox/gpt",
           param="model"),
    *asked("messages as prompt", 400, "invalid_type", "messages", CHAT, paths=(TEXT,),
           prompt=MESSAGES, param="prompt"),
    *asked("messages", 400, "unsupported_parameter", CHAT, paths=(TEXT,), messages=MESSAGES,
           param="messages"),
    *asked("two of chat", 400, "unsupported_parameter", "`max_tokens`?", "Also: ", "tools",
           paths=(TEXT,), max_completion_tokens=5, tools=[], param="max_completion_tokens"),
    *asked("best_of", 400, "invalid_value", "at least `n`", paths=(TEXT,), n=3, best_of=2,
           param="best_of"),
    *asked("two unsupported", 400, "unsupported_parameter", "`best_of`", "Also: ", "`suffix`",
           paths=(TEXT,), model="picky/m", best_of=2, suffix="x", param="best_of"),
    *asked("prompt in chat", 400, "unsupported_parameter", TEXT, paths=(CHAT,), prompt="x",
           param="prompt"),
    *asked("no messages", 400, "missing_required_parameter", "`messages`", paths=(CHAT,),
           messages=None, param="messages"),
    *asked("role", 400, "invalid_value", "role", paths=(CHAT,),
           messages=[{"role": "bot", "content": "x"}], param="messages[0].role"),
]  # fmt: skip

FINAL = {"x-should-retry": "false"}
VENDORS = [
    *asked("vendor overloaded", 503, "vendor_overloaded", "sandbox", "Tollgate tried 3 times.",
           model=f"{SANDBOX}?status=503"),
    *asked("legal reasons", 502, "vendor_failed", "Tollgate tried once.", answers=FINAL,
           model=f"{SANDBOX}?status=451"),
    *asked("not implemented", 502, "vendor_failed", "Tollgate tried once.", answers=FINAL,
           model=f"{SANDBOX}?status=501"),
    *asked("vendor's limit", 429, "vendor_rate_limited", "Tollgate tried once.",
           answers={"retry-after": "9"}, model=f"{SANDBOX}?status=429&retry_after=9"),
    *asked("vendor's rejection", 400, "sandbox_status", "status 400",
           model=f"{SANDBOX}?status=400"),
    *asked("vendor is down", 502, "vendor_failed", "Tollgate tried 3 times.", model="down/m"),
]  # fmt: skip

OTHERS = [
    Mistake("foreign account", 403, "account_not_allowed", ("account",), TEXT, ASK[TEXT],
            headers={"x-selected-account-id": "other"}, param="x-selected-account-id"),
    Mistake("no scope", 403, "scope_missing", ("`usage`",), "/v5/organization/costs?start_time=0",
            method="GET"),
    Mistake("coding", 415, "unsupported_content_encoding", ("zstd",), TEXT, b"x",
            headers={"content-encoding": "zstd"}, answers={"accept-encoding": "gzip, deflate"}),
    Mistake("unknown model", 404, "model_not_found", ("`GET /v5/models`",), "/v5/models/sandbox/x",
            method="GET", param="model"),
    Mistake("pattern", 404, "model_not_found", ("is a pattern", "place of `*`"), "/v5/models/sim/*",
            method="GET", param="model"),
    Mistake("mistyped model", 404, "model_not_found", ("`sandbox/echo`?",),
            "/v5/models/sandbox/ecko", method="GET", param="model"),
]  # fmt: skip

MISTAKES = [*PATHS, *KEYS, *BODIES, *MODELS, *FIELDS, *VENDORS, *OTHERS]
