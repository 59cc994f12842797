"""Which client sent a request, and the base URL that it needs.

Source: the `user-agent` and `x-stainless-*` headers of the official clients.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Client:
    """A kind of client; its base URL is the host's address and then `suffix`.

    `chat` is what makes it call chat completions instead of the Responses API; empty: unknown.
    """

    name: str
    setting: str
    suffix: str
    chat: str = ""


_OPENAI = "OpenAI's client"
_AZURE = "OpenAI's client (its class `OpenAI`, not `AzureOpenAI`)"
_SCALE = "Scale's client"
_OPENAI_CHAT = "`client.chat.completions`"
_AGENTS_CHAT = "`OpenAIChatCompletionsModel`"
_BASE, _BASE_JS = "`base_url`", "`baseURL`"

#: What a `user-agent` begins with -> the client. The clients of one vendor exist in two languages.
_AGENTS: tuple[tuple[re.Pattern[str], Client], ...] = (
    (re.compile(r"(Async)?SGPClient/JS"), Client(_SCALE, _BASE_JS, "")),
    (re.compile(r"(Async)?SGPClient/"), Client(_SCALE, _BASE, "")),
    (re.compile(r"(Async)?AzureOpenAI/JS"), Client(_AZURE, _BASE_JS, "/v5")),
    (re.compile(r"(Async)?AzureOpenAI/"), Client(_AZURE, _BASE, "/v5")),
    (re.compile(r"(Async)?OpenAI/JS"), Client(_OPENAI, _BASE_JS, "/v5", _OPENAI_CHAT)),
    (re.compile(r"(Async)?OpenAI/"), Client(_OPENAI, _BASE, "/v5", _OPENAI_CHAT)),
    (
        re.compile(r"(?i)(async)?(anthropic|google-genai|genai-js|cohere|ollama|mistral)"),
        Client("OpenAI's client, instead of this one,", _BASE, "/v5"),
    ),
    (re.compile(r"ai(-sdk)?/"), Client("The AI SDK", _BASE_JS, "/v5", "`openai.chat(model)`")),
    (re.compile(r"Agents/"), Client("OpenAI's Agents SDK", _BASE, "/v5", _AGENTS_CHAT)),
    (re.compile(r"pydantic-ai/"), Client("Pydantic AI", _BASE, "/v5", "`OpenAIChatModel`")),
    (re.compile(r"langchainjs"), Client("LangChain", _BASE_JS, "/v5", "`useResponsesApi: false`")),
    (re.compile(r"(?i)litellm"), Client("LiteLLM", "`api_base`", "/v5")),
)


def client_of(headers: Mapping[str, str]) -> Client | None:
    """Return the client that sent these headers; None if it is unknown, such as curl.

    The names of `headers` are in lower case.
    """
    agent = headers.get("user-agent", "")
    found = next((client for pattern, client in _AGENTS if pattern.match(agent)), None)
    if found is not None:
        return found
    language = headers.get("x-stainless-lang")
    if language is None:
        return None
    # A caller may replace the user-agent; only Scale's client sends these.
    is_scale = "x-selected-account-id" in headers or "x-api-key" in headers
    setting = _BASE_JS if language == "js" else _BASE
    return Client(_SCALE, setting, "") if is_scale else Client(_OPENAI, setting, "/v5")
