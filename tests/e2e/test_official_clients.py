"""The official clients, unchanged, against the real server."""

import asyncio
import functools
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest
import scale_gp_beta
from openai import AsyncOpenAI, OpenAI
from openai.types.admin.organization.usage_completions_response import (
    DataResultOrganizationUsageCompletionsResult,
)
from scale_gp_beta import AsyncSGPClient, SGPClient

from tests.e2e.deployment import Candidate
from tests.support.services.polling import wait_until
from tests.support.vendor import CUT, Reply, body_of, choice, json_reply, stream_reply, usage_of

ASK: dict[str, Any] = {"model": "sim/m", "prompt": "one two", "max_tokens": 5}
TEXT = "word0 word1 word2 word3 word4 "
USAGE = usage_of(2, 3)


def openai_client(deployment: Candidate, key: str | None = None) -> OpenAI:
    return OpenAI(
        base_url=deployment.gateway.base_url,
        api_key=key or deployment.gateway.api_key,
        max_retries=0,
        timeout=30,
    )


def scale_client(
    deployment: Candidate, key: str | None = None, account_id: str = "acme"
) -> SGPClient:
    return SGPClient(
        base_url=deployment.gateway.base_url.removesuffix("/v5"),
        api_key=key or deployment.gateway.api_key,
        account_id=account_id,
        max_retries=0,
        timeout=30,
    )


@pytest.fixture(params=["openai", "scale"])
def client(request: pytest.FixtureRequest, deployment: Candidate) -> Any:
    if request.param == "openai":
        return openai_client(deployment)
    return scale_client(deployment)


@pytest.fixture(params=["openai", "scale"])
def errors(request: pytest.FixtureRequest, deployment: Candidate) -> tuple[Any, Any]:
    """A way to make a client, and where its exceptions are."""
    if request.param == "openai":
        return (lambda **kwargs: openai_client(deployment, **kwargs)), openai
    return (lambda **kwargs: scale_client(deployment, **kwargs)), scale_gp_beta


def test_an_answer_has_the_right_values(client: Any) -> None:
    answer = client.completions.create(**ASK)
    assert answer.object == "text_completion"
    (only,) = answer.choices
    assert (only.text, only.finish_reason, only.index) == (TEXT, "length", 0)
    usage = answer.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (2, 5, 7)


def test_two_prompts_with_three_samples_give_six_choices(client: Any) -> None:
    answer = client.completions.create(**{**ASK, "prompt": ["a b", "c"], "n": 3})
    assert [choice.index for choice in answer.choices] == list(range(6))
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (3, 30)


@pytest.mark.parametrize("include_usage", [None, False, True])
def test_a_stream_has_the_right_values(client: Any, include_usage: bool | None) -> None:
    options = {} if include_usage is None else {"stream_options": {"include_usage": include_usage}}
    chunks = list(client.completions.create(**ASK, stream=True, **options))
    usages = [chunk.usage for chunk in chunks if chunk.usage]
    chunks = [chunk for chunk in chunks if chunk.choices]
    assert "".join(chunk.choices[0].text for chunk in chunks) == TEXT
    assert [chunk.choices[0].finish_reason for chunk in chunks][-1] == "length"
    assert [usage.total_tokens for usage in usages] == ([7] if include_usage else [])


def test_a_stream_of_many_choices_has_the_right_indices(client: Any) -> None:
    texts: dict[int, str] = {}
    for chunk in client.completions.create(**{**ASK, "prompt": ["a", "b"], "n": 3}, stream=True):
        for piece in chunk.choices:
            texts[piece.index] = texts.get(piece.index, "") + piece.text
    assert texts == dict.fromkeys(range(6), TEXT)


@pytest.mark.parametrize("kind", [AsyncOpenAI, AsyncSGPClient])
def test_the_async_clients_work_too(deployment: Candidate, kind: Any) -> None:
    base_url = deployment.gateway.base_url
    more = {"account_id": "acme"} if kind is AsyncSGPClient else {}
    if more:
        base_url = base_url.removesuffix("/v5")

    async def ask() -> tuple[str, str]:
        async with kind(base_url=base_url, api_key=deployment.gateway.api_key, **more) as client:
            answer = await client.completions.create(**ASK)
            stream = await client.completions.create(**ASK, stream=True)
            streamed = [chunk.choices[0].text async for chunk in stream]
            return answer.choices[0].text, "".join(streamed)

    assert asyncio.run(ask()) == (TEXT, TEXT)


def test_a_wrong_key_is_an_authentication_error(errors: tuple[Any, Any]) -> None:
    make, module = errors
    with pytest.raises(module.AuthenticationError) as caught:
        make(key="tg_wrong").completions.create(**ASK)
    assert caught.value.status_code == 401


def test_a_wrong_account_is_a_permission_error(deployment: Candidate) -> None:
    with pytest.raises(scale_gp_beta.PermissionDeniedError):
        scale_client(deployment, account_id="elsewhere").completions.create(**ASK)
    client = openai_client(deployment).with_options(
        default_headers={"x-selected-account-id": "elsewhere"}
    )
    with pytest.raises(openai.PermissionDeniedError):
        client.completions.create(**ASK)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"max_tokens": -1}, "BadRequestError"),
        ({"temperature": "hot"}, "BadRequestError"),
        ({"model": "nope/m"}, "NotFoundError"),
        ({"model": "down/m"}, "InternalServerError"),
    ],
)
def test_a_refused_request_raises_the_clients_own_class(
    errors: tuple[Any, Any], change: dict[str, Any], error: str
) -> None:
    make, module = errors
    with pytest.raises(getattr(module, error)) as caught:
        make().completions.create(**{**ASK, **change})
    if module is openai and "max_tokens" in change:
        assert caught.value.param == "max_tokens"
        assert caught.value.code == "invalid_value"


def test_a_vendors_limit_is_a_rate_limit_error_with_its_retry_after(
    deployment: Candidate, errors: tuple[Any, Any]
) -> None:
    deployment.vendor.reply(json_reply({"error": {"message": "slow"}}, 429, retry_after="7"))
    make, module = errors
    with pytest.raises(module.RateLimitError) as caught:
        make().completions.create(**ASK)
    assert caught.value.response.headers["retry-after"] == "7"


def test_a_client_retries_what_the_vendor_limits_and_both_calls_are_recorded(
    deployment: Candidate,
) -> None:
    deployment.vendor.reply(json_reply({}, 429, retry_after="0"))
    key = deployment.gateway.add_account("retrying")
    answer = openai_client(deployment, key).with_options(max_retries=1).completions.create(**ASK)
    assert answer.choices[0].text == TEXT
    row = deployment.usage("retrying")
    assert row is not None
    assert (row.requests, row.failed_requests, row.usage.total_tokens) == (2, 1, 7)


def test_a_vendor_killed_in_the_middle_makes_the_client_raise(
    deployment: Candidate, errors: tuple[Any, Any]
) -> None:
    make, module = errors
    deployment.vendor.reply(stream_reply(body_of(choice("half an answer")), CUT))
    key = deployment.gateway.add_account(f"cut-{module.__name__}")
    seen = []
    with pytest.raises(Exception, match=r"broke off|closed|incomplete") as caught:  # noqa: PT012
        for chunk in (
            make(key=key).completions.create(**ASK, stream=True)
            if module is openai
            else (
                scale_client(deployment, key, f"cut-{module.__name__}").completions.create(
                    **ASK, stream=True
                )
            )
        ):
            seen.append(chunk.choices[0].text)
    assert seen == ["half an answer"]
    if module is openai:
        assert isinstance(caught.value, openai.APIError)
        assert "broke off" in str(caught.value)
    row = deployment.usage(f"cut-{module.__name__}")
    assert row is not None
    assert (row.estimated_requests, row.usage.completion_tokens) == (1, 3)


def test_the_clients_usage_api_returns_what_was_used(deployment: Candidate) -> None:
    started = int(time.time()) // 3600 * 3600
    key = deployment.gateway.add_account("reader", "completions", "usage")
    for stream in (False, True):
        answer = openai_client(deployment, key).completions.create(**ASK, stream=stream)
        if stream:
            assert list(answer)
    assert deployment.usage("reader")
    client = OpenAI(base_url=deployment.gateway.base_url, api_key=key, admin_api_key=key)
    page = client.admin.organization.usage.completions(
        start_time=started, group_by=["model", "project_id"]
    )
    (result,) = [result for bucket in page.data for result in bucket.results]
    assert isinstance(result, DataResultOrganizationUsageCompletionsResult)
    assert (result.project_id, result.model) == ("reader", "sim/m")
    assert (result.input_tokens, result.output_tokens, result.num_model_requests) == (4, 10, 2)
    listed = client.models.list()
    assert "sim/*" in {model.id for model in listed}


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_repeated_under_its_idempotency_key_is_answered_again_and_counted_once(
    deployment: Candidate, errors: tuple[Any, Any], stream: bool
) -> None:
    make, module = errors
    if module is scale_gp_beta:
        make = functools.partial(make, account_id=f"once-{module.__name__}-{stream}")
    key = deployment.gateway.add_account(f"once-{module.__name__}-{stream}")
    client, asked = make(key=key), len(deployment.vendor.asked)

    def ask(**changes: Any) -> str:
        headers = {"Idempotency-Key": "order-17"}
        answer = client.completions.create(
            **{**ASK, **changes}, stream=stream, extra_headers=headers
        )
        chunks = list(answer) if stream else [answer]
        return "".join(chunk.choices[0].text for chunk in chunks)

    assert [ask() for _ in range(3)] == [TEXT] * 3
    with pytest.raises(module.ConflictError) as caught:
        ask(max_tokens=6)
    assert caught.value.response.json()["error"]["code"] == "idempotency_key_reused"
    assert len(deployment.vendor.asked) == asked + 1
    row = deployment.usage(f"once-{module.__name__}-{stream}")
    assert row is not None
    assert (row.requests, row.usage.total_tokens) == (1, 7)


def test_a_client_that_gives_up_waiting_gets_the_answer_when_it_asks_again(
    deployment: Candidate,
) -> None:
    """Case D31: the client's own retries after a time-out, with one key, are one vendor call."""
    go_on = threading.Event()
    whole = json.dumps(body_of(choice("at last", "stop"), usage=usage_of(2, 3))).encode()
    deployment.vendor.reply(Reply([go_on, whole]))
    asked, headers = len(deployment.vendor.asked), {"Idempotency-Key": "order-18"}
    key = deployment.gateway.add_account("patient")
    client = openai_client(deployment, key).with_options(timeout=1.0, max_retries=20)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(lambda: client.completions.create(**ASK, extra_headers=headers))
        log = deployment.root / "web.log"  # it has given up once: its retry waited
        wait_until(lambda: "idempotency_in_progress" in log.read_text())
        go_on.set()
        assert answer.result(120).choices[0].text == "at last"
    assert len(deployment.vendor.asked) == asked + 1
    row = deployment.usage("patient")
    assert row is not None
    assert (row.requests, row.usage.total_tokens) == (1, 5)


def test_a_stream_that_its_client_closed_waits_for_it_whole(deployment: Candidate) -> None:
    go_on = threading.Event()
    said = [body_of(choice("Hel")), go_on, body_of(choice("lo", "stop")), body_of(usage=USAGE)]
    deployment.vendor.reply(stream_reply(*said, b"data: [DONE]\n\n"))
    asked, headers = len(deployment.vendor.asked), {"Idempotency-Key": "order-19"}
    key = deployment.gateway.add_account("leaver")
    client = openai_client(deployment, key).with_options(max_retries=20)

    with client.completions.create(**ASK, stream=True, extra_headers=headers) as stream:
        assert next(iter(stream)).choices[0].text == "Hel"
    go_on.set()
    again = client.completions.create(**ASK, stream=True, extra_headers=headers)
    assert "".join(chunk.choices[0].text for chunk in again) == "Hello"
    assert len(deployment.vendor.asked) == asked + 1
    row = deployment.usage("leaver")
    assert row is not None
    assert (row.requests, row.estimated_requests, row.usage.total_tokens) == (1, 0, 5)
