import json
from typing import Any

import pytest

from app.gateways.base import Gateway
from app.gateways.families import GATEWAY_SPECS, GATEWAYS
from app.transport.auth.schemes import authenticated
from app.vendors.table import load_vendors
from app.vendors.vendor import Vendor
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import ModelNotFound
from tests.gateways.openai.chat_vendors import ROWS
from tests.gateways.openai.chat_wire import STREAM, answer, chunk, message
from tests.gateways.rows import Row, told
from tests.support.vendor import DONE

ENV = {"AZURE_OPENAI_API_KEY": "sk-test", "AZURE_OPENAI_ENDPOINT": "https://us.example/"}


def row(**env: str) -> Vendor:
    return load_vendors(None, ENV | env, GATEWAY_SPECS).find("azure")


def gateway(kind: str) -> Gateway[CompletionRequest]:
    found = GATEWAYS["azure"].doors("completions")[0 if kind == "native" else 1]
    assert found is not None
    return found


CHAT = Row("azure", "AZURE_OPENAI_API_KEY", base_url="https://us.example", missing=None)


@pytest.mark.parametrize(
    ("kind", "operation"), [("native", "completions"), ("chat", "chat/completions")]
)
def test_the_deployment_and_the_version_are_in_the_address(kind: str, operation: str) -> None:
    encoded = gateway(kind).encode(row(), CHAT.asks("my-gpt"))
    path = f"https://us.example/openai/deployments/my-gpt/{operation}"
    assert encoded.url == f"{path}?api-version=2024-10-21"
    headers = authenticated(row(), encoded)
    assert headers["api-key"] == "sk-test"
    assert "authorization" not in headers


@pytest.mark.parametrize("kind", ["native", "chat"])
def test_the_version_is_a_setting(kind: str) -> None:
    vendor = row(OPENAI_API_VERSION="2025-04-01-preview&x")
    url = gateway(kind).encode(vendor, CHAT.asks()).url
    assert url.endswith("?api-version=2025-04-01-preview%26x")


@pytest.mark.parametrize(
    ("name", "segment"),
    [
        ("a/b", "a%2Fb"),
        ("../other", "..%2Fother"),
        ("m?x=1#y", "m%3Fx%3D1%23y"),
        ("é", "%C3%A9"),
        ("gpt 4", "gpt%204"),
    ],
)
def test_a_name_is_one_segment_whatever_is_in_it(name: str, segment: str) -> None:
    url = gateway("chat").encode(row(), CHAT.asks(name)).url
    assert url.startswith(f"https://us.example/openai/deployments/{segment}/chat/")


@pytest.mark.parametrize("name", [".", ".."])
@pytest.mark.parametrize("kind", ["native", "chat"])
def test_a_name_that_leads_elsewhere_is_no_deployment(kind: str, name: str) -> None:
    with pytest.raises(ModelNotFound) as caught:
        gateway(kind).encode(row(), CHAT.asks(name))
    assert caught.value.param == "model"


@pytest.mark.parametrize(
    ("model", "name"),
    [("o3", "max_completion_tokens"), ("gpt-5-mini", "max_completion_tokens"), ("x", "max_tokens")],
)
def test_deployments_of_models_that_reason_know_another_limit(model: str, name: str) -> None:
    assert CHAT.sent(model, max_tokens=9)[name] == 9


def test_a_verdict_on_the_prompt_comes_before_the_text_and_one_on_the_answer_within() -> None:
    verdict = chunk(id="", model="", created=0, object="", prompt_filter_results=[{}])
    late = chunk({"index": 0, "finish_reason": None, "content_filter_offsets": {"check_offset": 1}})
    chunks = CHAT.chunks([verdict, *STREAM[:2], late, *STREAM[2:]])
    assert told(chunks)[:2] == ("café \u2028", ["stop"])
    assert chunks[0].choices[0].text == "caf"


def test_filtered_text_ends_with_that_reason() -> None:
    choice = {**message("a", "content_filter"), "content_filter_results": {"hate": {}}}
    body = json.dumps(answer(choice, prompt_filter_results=[])).encode()
    assert CHAT.decoded(body).choices[0].finish_reason == "content_filter"
    assert told(CHAT.chunks([chunk({**choice, "delta": {}}), DONE]))[1] == ["content_filter"]


@pytest.mark.parametrize("row", [CHAT, ROWS["azure"]], ids=["text", "chat"])
@pytest.mark.parametrize("kept", [{}, {"message": None}, {"message": {}}])
def test_a_filter_may_take_the_whole_message_away(row: Any, kept: dict[str, Any]) -> None:
    choice = {"index": 0, "finish_reason": "content_filter", "logprobs": None, **kept}
    body = {"choices": [choice | {"content_filter_results": {"hate": {"filtered": True}}}]}
    usage = {"prompt_tokens": 15, "completion_tokens": 19, "total_tokens": 34}
    found = row.decoded(json.dumps(body | {"usage": usage}).encode())
    (only,) = found.choices
    assert (only.text, only.finish_reason) == ("", "content_filter")
    assert found.usage is not None
    assert found.usage.completion_tokens == 19


def test_a_blocked_prompt_is_the_callers_matter() -> None:
    error = CHAT.error(
        400,
        {
            "error": {
                "message": "The response was filtered.",
                "type": None,
                "param": "prompt",
                "code": "content_filter",
                "status": 400,
                "innererror": {"code": "ResponsibleAIPolicyViolation"},
            }
        },
    )
    assert (error.status, error.code, error.param) == (400, "content_filter", "prompt")
