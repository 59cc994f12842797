"""The entries of vendors whose chat is OpenAI's or close to it."""

from typing import Any

import pytest

from tests.gateways.chat_rows import ChatRow

ENV = {
    "AZURE_OPENAI_API_KEY": "sk-test",
    "AZURE_OPENAI_ENDPOINT": "https://us.example/",
    "DEEPSEEK_API_KEY": "sk-test",
    "FIREWORKS_API_KEY": "sk-test",
    "GROQ_API_KEY": "sk-test",
    "LAUNCH_API_KEY": "sk-test",
    "LAUNCH_BASE_URL": "http://launch.example/v1",
    "LLAMACPP_BASE_URL": "http://llamacpp.example/v1",
    "MISTRAL_API_KEY": "sk-test",
    "MODEL_ZOO_BASE_URL": "http://zoo.example/v1",
    "OLLAMA_BASE_URL": "http://ollama.example/v1",
    "OPENAI_API_KEY": "sk-test",
    "OPENROUTER_API_KEY": "sk-test",
    "SCALE_API_KEY": "sk-test",
    "SGLANG_BASE_URL": "http://sglang.example/v1",
    "TGI_BASE_URL": "http://tgi.example/v1",
    "TOGETHER_API_KEY": "sk-test",
    "TOLLGATE_SANDBOX_URL": "http://sandbox.example/v1",
    "VLLM_BASE_URL": "http://vllm.example/v1",
    "XAI_API_KEY": "sk-test",
}

NAMES = (
    "azure",
    "deepseek",
    "fireworks_ai",
    "groq",
    "llamacpp",
    "llmengine",
    "mistral",
    "model_zoo",
    "ollama",
    "openai",
    "openrouter",
    "sandbox",
    "sglang",
    "tgi",
    "together",
    "vllm",
    "xai",
)

ROWS = {name: ChatRow(name, ENV) for name in NAMES}

LAUNCH = ChatRow("launch", ENV)

EACH = pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())

USER = {"role": "user", "content": "hi"}


def function(name: str = "f", **fields: Any) -> dict[str, Any]:
    """Return a tool with a function."""
    return {"type": "function", "function": {"name": name, **fields}}


def call(call_id: str = "call_1", arguments: str = "{}", **fields: Any) -> dict[str, Any]:
    """Return a call of a tool, as in an assistant's message."""
    called = {"name": "f", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": called, **fields}


def after_call(call_id: str = "call_1", **reply: Any) -> list[dict[str, Any]]:
    """Return a conversation whose last message is the result of a tool's call."""
    said = {"role": "assistant", "content": None, "tool_calls": [call(call_id)], **reply}
    return [USER, said, {"role": "tool", "tool_call_id": call_id, "content": "7"}]
