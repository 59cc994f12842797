"""Which client sent a request, by its headers."""

from collections.abc import Mapping

import pytest
from openai import AsyncOpenAI, OpenAI
from scale_gp_beta import SGPClient

from app.api.mistakes.clients import client_of


def lowered(headers: Mapping[str, object]) -> dict[str, str]:
    """Return the headers that are texts, with names in lower case."""
    return {name.lower(): it for name, it in headers.items() if isinstance(it, str)}


def test_the_official_clients_are_recognised_with_the_base_url_that_each_needs() -> None:
    openai = client_of(lowered(OpenAI(api_key="x").default_headers))
    assert openai is not None
    assert (openai.name, openai.setting, openai.suffix) == ("OpenAI's client", "`base_url`", "/v5")
    assert client_of(lowered(AsyncOpenAI(api_key="x").default_headers)) == openai
    made = SGPClient(api_key="x", account_id="a", base_url="http://x")
    scale = client_of(lowered(made.default_headers))
    assert scale is not None
    assert (scale.name, scale.suffix) == ("Scale's client", "")


@pytest.mark.parametrize(
    ("headers", "name", "setting", "suffix"),
    [
        ({"user-agent": "OpenAI/JS 6.1.0"}, "OpenAI's client", "`baseURL`", "/v5"),
        ({"user-agent": "SGPClient/JS 0.7.0"}, "Scale's client", "`baseURL`", ""),
        ({"user-agent": "litellm/1.80"}, "LiteLLM", "`api_base`", "/v5"),
        ({"user-agent": "ai/5.0.1 ai-sdk/openai"}, "The AI SDK", "`baseURL`", "/v5"),
        ({"user-agent": "x", "x-stainless-lang": "js"}, "OpenAI's client", "`baseURL`", "/v5"),
        (
            {"user-agent": "x", "x-stainless-lang": "python", "x-selected-account-id": "a"},
            "Scale's client",
            "`base_url`",
            "",
        ),
    ],
)
def test_clients_of_other_languages_and_renamed_ones_are_recognised(
    headers: dict[str, str], name: str, setting: str, suffix: str
) -> None:
    found = client_of(headers)
    assert found is not None
    assert (found.name, found.setting, found.suffix) == (name, setting, suffix)


@pytest.mark.parametrize(
    ("agent", "chat"),
    [
        (
            "ai/6.0.326 ai-sdk/provider-utils/4.0.66 runtime/node.js/v20.20.2",
            "`openai.chat(model)`",
        ),
        ("Agents/Python 0.24.0", "`OpenAIChatCompletionsModel`"),
        ("Agents/JavaScript 0.20.0", "`OpenAIChatCompletionsModel`"),
        ("pydantic-ai/2.62.0", "`OpenAIChatModel`"),
        ("langchainjs-openai/1.0.0 ((node/v20.20.2; linux; x64))", "`useResponsesApi: false`"),
        ("OpenAI/Python 3.57.0", "`client.chat.completions`"),
        ("SGPClient/Python 0.7.0", ""),
    ],
)
def test_what_makes_a_client_call_chat_is_known(agent: str, chat: str) -> None:
    found = client_of({"user-agent": agent})
    assert found is not None
    assert found.chat == chat


@pytest.mark.parametrize("agent", ["", "curl/8.5.0", "python-requests/2.32", "Mozilla/5.0"])
def test_others_are_not(agent: str) -> None:
    assert client_of({"user-agent": agent}) is None
