"""What each vendor can do in chat: found by encoding a request for each feature. No I/O.

A feature that its gateway refuses by name is none; so the table cannot differ from the code.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from app.api.schemas.chat.request import load_chat_request
from app.gateways.families import GATEWAY_SPECS, GATEWAYS
from app.serving.routing import Candidate, Router
from app.vendors.table import load_vendors
from app.vendors.vendor import Vendor
from app.vocabulary.errors import InvalidRequest

#: A current model of each vendor whose models differ; others get the name `model`.
MODELS: Mapping[str, str] = {
    "anthropic": "claude-sonnet-5",
    "bedrock": "anthropic.claude-sonnet-5-v1:0",
    "cohere": "command-a-reasoning-08-2025",
    "deepseek": "deepseek-v4",
    "gemini": "gemini-3-flash",
    "groq": "openai/gpt-oss-120b",
    "mistral": "mistral-large-latest",
    "openai": "gpt-5.2",
    "vertex_ai": "gemini-3-flash",
    "xai": "grok-4",
}

_TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
_OTHER = {"type": "function", "function": {"name": "g", "parameters": {"type": "object"}}}
_SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}
_PDF = {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}
_SHAPE = {"name": "reply", "schema": _SCHEMA}


def _user(*parts: Mapping[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}, *parts]}]}


def _image(url: str) -> dict[str, Any]:
    return _user({"type": "image_url", "image_url": {"url": url}})


def _with_tool(**fields: Any) -> dict[str, Any]:
    return {"tools": [_TOOL], **fields}


#: Feature -> the fields of a request for it.
FEATURES: Mapping[str, Mapping[str, Any]] = {
    "tools": _with_tool(),
    "a named tool": _with_tool(tool_choice={"type": "function", "function": {"name": "f"}}),
    "one tool at a time": {"tools": [_TOOL, _OTHER], "parallel_tool_calls": False},
    "image data": _image("data:image/png;base64,iVBORw0KGgo="),
    "image URL": _image("https://example.com/a.png"),
    "sound": _user({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}),
    "PDF": _user({"type": "file", "file": _PDF}),
    "JSON mode": {"response_format": {"type": "json_object"}},
    "JSON schema": {"response_format": {"type": "json_schema", "json_schema": _SHAPE}},
    "reasoning effort": {"reasoning_effort": "high"},
    "stop": {"stop": ["END"]},
    "seed": {"seed": 1},
    "logprobs": {"logprobs": True, "top_logprobs": 2},
    "penalties": {"frequency_penalty": 0.5, "presence_penalty": 0.5},
    "web search": {"web_search_options": {}},
}

#: A value for each variable of the built-in table, so that every entry is complete.
_ENVIRONMENT = {
    "AWS_REGION": "us-east-1",
    "AZURE_OPENAI_ENDPOINT": "https://azure.invalid",
    "GOOGLE_CLOUD_PROJECT": "project",
    "LAUNCH_BASE_URL": "https://launch.invalid",
    "LLAMACPP_BASE_URL": "http://llamacpp.invalid/v1",
    "MODEL_ZOO_BASE_URL": "http://zoo.invalid/v1",
    "OLLAMA_BASE_URL": "http://ollama.invalid/v1",
    "SCALE_API_KEY": "key",
    "SGLANG_BASE_URL": "http://sglang.invalid/v1",
    "TGI_BASE_URL": "http://tgi.invalid/v1",
    "TOLLGATE_SANDBOX_URL": "http://sandbox.invalid/v1",
    "VLLM_BASE_URL": "http://vllm.invalid/v1",
}


def chat_features() -> dict[str, dict[str, bool]]:
    """Return, for each vendor of the built-in table that has chat, whether it has each feature."""
    table = load_vendors(None, _ENVIRONMENT, GATEWAY_SPECS)
    router = Router(table, GATEWAYS)
    return {
        vendor.name: {name: _has(router, vendor, fields) for name, fields in FEATURES.items()}
        for vendor in table
        if _has(router, vendor, {})
    }


def chat_table() -> Iterator[str]:
    """Yield the lines of a Markdown table of all vendors and features."""
    yield f"| vendor | {' | '.join(FEATURES)} |"
    yield f"| --- |{' --- |' * len(FEATURES)}"
    for name, found in chat_features().items():
        yield f"| {name} | {' | '.join('yes' if has else 'no' for has in found.values())} |"


def _has(router: Router, vendor: Vendor, fields: Mapping[str, Any]) -> bool:
    name = MODELS.get(vendor.name, "model")
    body = {"messages": [{"role": "user", "content": "hi"}], **fields}
    request = load_chat_request({"model": f"{vendor.name}/{name}", **body})
    try:
        router.plan(Candidate(vendor, name), request)
    except InvalidRequest:
        return False
    return True
