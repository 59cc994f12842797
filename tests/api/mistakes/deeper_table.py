"""More mistakes: of other services' clients, with changed keys, and deep inside of bodies."""

import gzip
from typing import Any

from tests.api.mistakes.table import (
    AZURE,
    CHAT,
    MESSAGES,
    OPENAI,
    SANDBOX,
    TEXT,
    UNKNOWN,
    Mistake,
    asked,
    keyless,
    lost,
    model,
    unread,
)

GET: dict[str, Any] = {"method": "GET"}

PATHS = [
    lost("Ollama's chat", "/api/chat", f"Did you mean `POST {CHAT}`?", "`{root}/v5`"),
    lost("Ollama's models", "/api/tags", "Did you mean `GET /v5/models`?", **GET),
    lost("Ollama's completions", "/api/generate", f"`POST {TEXT}`"),
    lost("Anthropic's client", "/v1/messages", "instead of this one", "`{root}/v5`",
         headers={"user-agent": "Anthropic/Python 0.80.0", "x-stainless-lang": "python"}),
    lost("door as base", f"{CHAT}/chat/completions", "`base_url` `{root}/v5`", headers=OPENAI),
    lost("half a door as base", "/v5/chat/chat/completions", "`{root}/v5`", headers=OPENAI),
    lost("Azure with a base", "/v5/deployments/m/chat/completions", "`{root}/v5`", headers=AZURE),
    lost("Gemini's", "/v1beta/models/gemini-2.5-pro:generateContent", f"`POST {CHAT}`"),
    lost("Gemini's stream", "/v5/v1beta/models/g:streamGenerateContent", f"`POST {CHAT}`"),
    lost("Bedrock's", "/model/anthropic.claude-v2/invoke", f"`POST {CHAT}`"),
    lost("Bedrock's chat", "/model/anthropic.claude-v2/converse", f"`POST {CHAT}`"),
    lost("SageMaker's", "/invocations", f"`POST {CHAT}`"),
    lost("Cohere's", "/v2/chat", f"`POST {CHAT}`"),
    lost("Anthropic's tokens", "/v1/messages/count_tokens", "Anthropic", f"`POST {CHAT}`"),
    lost("Azure's, v5", "/v5/openai/deployments/m/completions", f"`POST {TEXT}`", headers=AZURE),
    lost("MCP", "/v5/mcp", "no MCP server"),
    lost("stored", f"{CHAT}/chatcmpl-1", "no stored completions", **GET),
    lost("stored text", f"{TEXT}/cmpl-1", "no stored completions", **GET),
    lost("engines", "/v5/engines", "`GET /v5/models`?", **GET, headers=OPENAI),
    lost("model's case", "/v1/models/tgi/Qwen/Qwen3", "`GET /v5/models/tgi/Qwen/Qwen3`?", **GET),
    lost("plural", "/v5/chats/completions", f"`POST {CHAT}`?"),
    lost("turned round", "/v5/completions/chat", f"`POST {CHAT}`?"),
    lost("too much", f"{CHAT}/completions", f"`POST {CHAT}`?"),
    lost("dash", "/v5/chat-completions", f"`POST {CHAT}`?"),
    lost("suffix", "/v5/completions.json", f"`POST {TEXT}`?"),
    lost("usage", "/v1/usage", "`GET /v5/organization/usage/completions`?", **GET),
    lost("old billing", "/v5/dashboard/billing/usage", "`GET /v5/organization/usage/c", **GET),
    lost("dashboard", "/dashbord", "`GET /dashboard`?", **GET),
    lost("metrics", "/metric", "`GET /metrics`?", **GET),
    lost("costs", "/v5/costs", "`GET /v5/organization/costs`?", **GET),
    lost("a request", "/v5/organization/requests", "/requests/{any_id}`?", **GET),
    lost("singular model", "/v5/model/sandbox/echo", "`GET /v5/models/sandbox/echo`?", **GET),
    lost("login", "/login", "`GET /dashboard`?", **GET),
    lost("openapi", "/openapi", "`GET /openapi.json`?", **GET),
    lost("an error's page", "/docs/errors/invalid_value", "`GET /docs/errors`?", **GET),
    lost("tokenizer", "/tokenize", "no tokenizer"),
    lost("docs", "/doc", "`GET /docs`?", **GET),
    lost("errors", "/errors", "`GET /docs/errors`?", **GET),
    lost("key as path", f"/{UNKNOWN}", "`/tg_***`", **GET, never=(UNKNOWN,)),
    lost("not found, POST", "/nowhere", f"`POST {TEXT}`", never=("/v5/organization",)),
]  # fmt: skip

KEYS = [
    *keyless("Token", "`Bearer`, not `Token`", authorization=f"Token {UNKNOWN}"),
    *keyless("ApiKey", "`Bearer`, not `ApiKey`", authorization=f"ApiKey {UNKNOWN}"),
    *keyless("AWS", "not `AWS4-HMAC-SHA256`", authorization="AWS4-HMAC-SHA256 Credential=AKIAX/20"),
    *keyless("Bearer:", "sign after `Bearer`", authorization=f"Bearer: {UNKNOWN}"),
    *keyless("Bearer=", "sign after `Bearer`", authorization=f"Bearer={UNKNOWN}"),
    *keyless("{key}", "placeholder", authorization="Bearer {api_key}"),
    *keyless("$env:", "placeholder", authorization="Bearer $env:KEY"),
    *keyless("process.env", "placeholder", x_api_key="process.env.OPENAI_API_KEY"),
    *keyless("<key>", "placeholder", x_api_key=f"<{UNKNOWN}>"),
    *keyless("[key]", "brackets", x_api_key=f"[{UNKNOWN}]"),
    *keyless("KEY=", "name of a variable", "`KEY=`", x_api_key=f"KEY={UNKNOWN}"),
    *keyless("file", "name of a file", x_api_key="var/dev-key"),
    *keyless("dash", "begin with `tg_`", x_api_key=UNKNOWN.replace("_", "-")),
    *keyless("upper", "begin with `tg_`", x_api_key=UNKNOWN.upper()),
    *keyless("encoded", "begin with `tg_`", x_api_key=UNKNOWN.replace("_", "%5F")),
    *keyless("abbreviated", "Send the whole key", x_api_key=f"{UNKNOWN[:11]}..."),
    *keyless("invisible", "not ASCII", x_api_key=f"{UNKNOWN}\u00ad"),
    *keyless("GitHub's", "`ghp_`", x_api_key=f"ghp_{'a' * 36}"),
    *keyless("dummy", "`tollgate keys create`", x_api_key="dummy"),
    *keyless("apikey", "`apikey`", "`x-api-key:", apikey=UNKNOWN),
    *keyless("authorisation", "`authorisation`", authorisation=f"Bearer {UNKNOWN}"),
    *keyless("Azure's proxy", "`ocp-apim", ocp_apim_subscription_key=UNKNOWN),
]

PLACE = "line 1, column "
BODIES = [
    *unread("True", b'{"stream": True, "x": "secret"}', f"{PLACE}12", "Python", "json.dumps"),
    *unread("None", b'{"stop": None}', f"{PLACE}10", "Python"),
    *unread("undefined, JSON", b'{"stop": undefined}', "no `undefined`"),
    *unread("NaN", b'{"temperature": NaN}', "no `NaN`", "`null`"),
    *unread("-Infinity", b'{"temperature": -Infinity}', "`Infinity`"),
    *unread("too large", b'{"temperature": 1e999}', "too large"),
    *unread(".5", b'{"temperature": .5}', "`0.5`"),
    *unread("+1", b'{"n": +1}', "sign"),
    *unread("01", b'{"n": 01}', "begins with a zero"),
    *unread("comment", b'{"n": 1, // secret\n"x": 1}', "no comments"),
    *unread("dots", b'{"messages": [...]}', "leaves out"),
    *unread("line break", b'{"prompt": "secret\nsecret"}', "line break"),
    *unread("Windows", rb'{"prompt": "C:\Users"}', "backslash"),
    *unread("no comma", b'{"model": "m" "n": 1}', "comma"),
    *unread("no colon", b'{"model" "m"}', "colon"),
    *unread("second line", b'{"model": "m",\n "n": }', "line 2, column 7"),
    *unread("two objects", b'{"n": 1}{"n": 2}', "one JSON object"),
    *unread("lines", b'{"n": 1}\n{"n": 2}', "line 2, column 1", "one JSON object"),
    *unread("half a character", rb'{"prompt": "\ud800"}', "half of a character"),
    *unread("gzip", gzip.compress(b"{}"), "`content-encoding: gzip`"),
    *unread("Latin-1", '{"prompt": "\xe9"}'.encode("latin-1"), "byte 13", "UTF-8"),
    *unread("UTF-32", '{"n": 1}'.encode("utf-32"), "UTF-32"),
    *unread("stream", b'data: {"n": 1}\n\n', "event stream"),
    *unread("deep", b'{"n": ' + b"[" * 2000 + b"]" * 2000 + b"}", "64 levels"),
]

MODELS = [
    *model("sandbox", 400, "invalid_value", "`sandbox/echo`?"),
    *model("sandbox-echo", 400, "invalid_value", "`sandbox/echo`?"),
    *model("Sandbox echo", 400, "invalid_value", "`sandbox/echo`?"),
    *model("sandbox\\echo", 400, "invalid_value", "`sandbox/echo`?"),
    *model("sandbox/echo?", 404, "model_not_found", "`name=value`"),
    *model("sandbox/echo?status:429", 404, "model_not_found", "`name=value`"),
    Mistake("bare model", 404, "model_not_found", ("`openai/gpt-4o`?",), "/v5/models/gpt-4o",
            method="GET", param="model"),
    Mistake("key as model", 404, "model_not_found", ("`tg_***`",), f"/v5/models/{UNKNOWN}",
            method="GET", param="model", never=(UNKNOWN,)),
]  # fmt: skip


def told(name: str, code: str, param: str, *says: str, **fields: Any) -> Mistake:
    """Return a chat request to the sandbox with these fields."""
    body = {"model": SANDBOX, "messages": MESSAGES, **fields}
    return Mistake(name, 400, code, says, CHAT, body, param=param)


def message(name: str, code: str, within: str, *says: str, **members: Any) -> Mistake:
    """Return a chat request with one message; `within` is the path below it."""
    return told(name, code, f"messages[0]{within}", *says, messages=[members])


def part(name: str, code: str, within: str, *says: str, **members: Any) -> Mistake:
    """Return a chat request with one part; `within` is the path below it."""
    at = f".content[0]{within}"
    return message(name, code, at, *says, role="user", content=[members])


MISSING, TYPE, VALUE = "missing_required_parameter", "invalid_type", "invalid_value"
STRANGE = "unknown_parameter"
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}

DEEP = [
    message("rol", MISSING, ".role", "Rename that to `role`", rol="user", content="x"),
    message("contents", MISSING, ".content", "`contents`", role="user", contents="x"),
    message("parts", MISSING, ".content", "`parts`", role="user", parts=[{"text": "x"}]),
    message("from", MISSING, ".role", "`from`", **{"from": "human", "value": "x"}),
    message("human", VALUE, ".role", "Did you mean `user`?", role="human", content="x"),
    message("model", VALUE, ".role", "Did you mean `assistant`?", role="model", content="x"),
    message("User", VALUE, ".role", "Did you mean `user`?", role="User", content="x"),
    message("nme", STRANGE, ".nme", "`name`?", role="user", content="x", nme="y"),
    message("object", TYPE, ".content", "array", role="user", content={"text": "x"}),
    message("result", VALUE, ".tool_call_id", "id of a tool call", role="tool", tool_call_id="x",
            content="y"),
    message("user's calls", VALUE, ".tool_calls", "role assistant", role="user", content="x",
            tool_calls=[CALL]),
    told("bare message", TYPE, "messages[0]", '"role": "user"', messages=["hi"]),
    told("one message", TYPE, "messages", '[{"role": "user"', messages=MESSAGES[0]),
    told("text as messages", TYPE, "messages", '[{"role": "user"', messages="hi"),
    told("id of a result", MISSING, "messages[0].tool_call_id", "`toolCallId`",
         messages=[{"role": "tool", "toolCallId": "c", "content": "x"}]),
    told("arguments", TYPE, "messages[0].tool_calls[0].function.arguments", "json.dumps",
         messages=[{"role": "assistant", "tool_calls": [
             {**CALL, "function": {"name": "f", "arguments": {}}}]}]),
    told("flat call", MISSING, "messages[0].tool_calls[0].function", "A call is",
         messages=[{"role": "assistant", "tool_calls": [
             {"id": "c", "type": "function", "name": "f"}]}]),
    told("no result", VALUE, "messages", "`tool`", "`c`",
         messages=[*MESSAGES, {"role": "assistant", "tool_calls": [CALL]}]),
    part("bare part", TYPE, ".image_url", '`{"url": "..."}`', type="image_url", image_url="x"),
    part("uri", MISSING, ".image_url.url", "`uri`", type="image_url", image_url={"uri": "x"}),
    part("no type", MISSING, ".type", '"type": "text"', text="x"),
    part("text's name", MISSING, ".text", "`content`", type="text", content="x"),
    part("Responses' part", VALUE, ".type", "did you mean text", type="input_text", text="x"),
    part("Anthropic's image", VALUE, ".type", "mean image_url", type="image", source={}),
    part("detail", VALUE, ".image_url.detail", "`low`?", type="image_url",
         image_url={"url": "x", "detail": "lo"}),
    told("text as part", TYPE, "messages[0].content[0]", '"type": "text"',
         messages=[{"role": "user", "content": ["x"]}]),
    told("tools, object", TYPE, "tools", "array", tools=TOOL),
    told("Responses' tool", MISSING, "tools[0].function", "A tool is",
         tools=[{"type": "function", "name": "f"}]),
    told("Anthropic's tool", MISSING, "tools[0].type", "A tool is",
         tools=[{"name": "f", "input_schema": {}}]),
    told("paramters", STRANGE, "tools[0].function.paramters", "`parameters`?",
         tools=[{"type": "function", "function": {"name": "f", "paramters": {}}}]),
    told("input_schema", STRANGE, "tools[0].function.input_schema", "`parameters`?",
         tools=[{"type": "function", "function": {"name": "f", "input_schema": {}}}]),
    told("strict", TYPE, "tools[0].function.strict", "without quotes",
         tools=[{"type": "function", "function": {"name": "f", "strict": "true"}}]),
    told("any", VALUE, "tool_choice", "Did you mean `required`?", tools=[TOOL], tool_choice="any"),
    told("tool's name", VALUE, "tool_choice", "To name a tool", tools=[TOOL], tool_choice="f"),
    told("flat choice", MISSING, "tool_choice.function", "To name a tool", tools=[TOOL],
         tool_choice={"type": "function", "name": "f"}),
    told("choice, auto", VALUE, "tool_choice.type", "the word alone", tools=[TOOL],
         tool_choice={"type": "auto"}),
    told("format, word", TYPE, "response_format", '{"type": "json_object"}',
         response_format="json"),
    told("format, json", VALUE, "response_format.type", "did you mean json_object",
         response_format={"type": "json"}),
    told("flat schema", MISSING, "response_format.json_schema", "A schema is sent as",
         response_format={"type": "json_schema", "schema": {}}),
    told("schma", STRANGE, "response_format.json_schema.schma", "`schema`?",
         response_format={"type": "json_schema", "json_schema": {"name": "x", "schma": {}}}),
    told("stream options", STRANGE, "stream_options.include_usages",
         "`stream_options.include_usage`?", stream=True, stream_options={"include_usages": True}),
    told("logprobs", TYPE, "logprobs", "`top_logprobs`", logprobs=3),
    told("effort", VALUE, "reasoning_effort", "`high`?", reasoning_effort="hgih"),
    told("metadata", TYPE, "metadata.a", "in quotes", metadata={"a": 5}),
    told("system", STRANGE, "system", "role `system`", system="Be brief."),
    told("timeout", STRANGE, "timeout", "option of the client", timeout=5),
]  # fmt: skip


FIELDS = [
    *asked("number as text", 400, TYPE, "without quotes", max_tokens="5", param="max_tokens"),
    *asked("point", 400, TYPE, "decimal point", max_tokens=5.0, param="max_tokens"),
    *asked("huge number", 400, TYPE, "integer.", seed=10**30, param="seed"),
    *asked("client's option", 400, STRANGE, "option of the client", model=SANDBOX,
           base_url="http://x", param="base_url"),
    Mistake("line break in a name", 400, "unsupported_parameter", ("`temp??X: y`",), CHAT,
            {"model": "foreign/m", "messages": MESSAGES, "temp\r\nX: y": 1}, param="temp??X: y"),
    *asked("line break in a key", 400, TYPE, "`logit_bias.a?b` must be a number.",
           logit_bias={"a\nb": "x"}, param="logit_bias.a?b"),
    *asked("line break in a vendor", 404, "model_not_found", "`op?nai`", model="op\nnai/m",
           param="model"),
    *asked("variable as model", 400, VALUE, "a variable that is not set", model="$MODEL",
           param="model"),
    *asked("Anthropic's stop", 400, STRANGE, "`stop`?", model=SANDBOX, stop_sequences=["x"],
           param="stop_sequences"),
    *asked("foreign wire's stop", 400, "unsupported_parameter", "`stop`?", model="foreign/m",
           stop_sequences=["x"], param="stop_sequences"),
    Mistake("Model", 400, MISSING, ("Is it `Model`?", "Also: ", "Is it `Prompt`?"), TEXT,
            {"Model": SANDBOX, "Prompt": "x"}, param="model"),
    Mistake("engine", 400, MISSING, ("`engine`", "`model`"), TEXT,
            {"engine": SANDBOX, "prompt": "x"}, param="model"),
    Mistake("input", 400, MISSING, ("`input`", "`prompt`"), TEXT,
            {"model": SANDBOX, "input": "x"}, param="prompt"),
    Mistake("Gemini's body", 400, MISSING, ("`contents`", "`messages`"), CHAT,
            {"model": SANDBOX, "contents": []}, param="messages"),
    Mistake("wrapped", 400, MISSING, ("what is in `body`",), CHAT,
            {"body": {"model": SANDBOX, "messages": MESSAGES}}, param="model"),
]  # fmt: skip


def named(header: str, *says: str, value: str = "x") -> Mistake:
    """Return a good request with a header that Tollgate does not have."""
    body = {"model": SANDBOX, "prompt": "x"}
    return Mistake(header, 400, STRANGE, says, TEXT, body, headers={header: value}, param=header)


HEADERS = [
    named("x-tollgate-include-costs", "`x-tollgate-include-cost`?", value="true"),
    named("x-tollgate-timeout", "no request header"),
    named("x-idempotency-key", "`idempotency-key`?"),
    named("idempotent-key", "`idempotency-key`?"),
    Mistake("cost", 400, VALUE, ("`true` or `false`",), TEXT, {"model": SANDBOX, "prompt": "x"},
            headers={"x-tollgate-include-cost": "yes"}, param="x-tollgate-include-cost"),
    Mistake("blank in a key", 400, VALUE, ("visible ASCII",), TEXT,
            {"model": SANDBOX, "prompt": "x"}, headers={"idempotency-key": "a b"},
            param="idempotency-key"),
]  # fmt: skip

DEEPER = [*PATHS, *KEYS, *BODIES, *MODELS, *DEEP, *FIELDS, *HEADERS]
