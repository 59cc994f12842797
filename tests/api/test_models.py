"""What can be called, as both official clients read it."""

import asyncio
from typing import Any

import openai
import pytest
import requests
import scale_gp_beta
from openai import AsyncOpenAI, OpenAI
from scale_gp_beta import AsyncSGPClient, SGPClient

from tests.support.gateway import Gateway
from tests.support.vendor import SimulatedVendor

NOT_FOUND = (openai.NotFoundError, scale_gp_beta.NotFoundError)


@pytest.fixture(params=["openai", "scale"])
def clients(request: pytest.FixtureRequest, gateway: Gateway) -> tuple[Any, Any]:
    """One official client, and its twin that is awaited."""
    named: dict[str, Any] = {"api_key": gateway.api_key, "max_retries": 0, "timeout": 30}
    if request.param == "openai":
        named["base_url"] = gateway.base_url
        return OpenAI(**named), AsyncOpenAI(**named)
    named |= {"base_url": gateway.base_url.removesuffix("/v5"), "account_id": "acme"}
    return SGPClient(**named), AsyncSGPClient(**named)


def test_a_client_lists_the_models_and_finds_one(clients: tuple[Any, Any]) -> None:
    client, _ = clients
    ids = [model.id for model in client.models.list()]
    assert "sim/*" in ids
    assert len(ids) == len(set(ids))
    model = client.models.retrieve("sim/org/name:tag")
    assert (model.id, model.object) == ("sim/org/name:tag", "model")


def test_an_awaited_client_does_the_same(clients: tuple[Any, Any]) -> None:
    async def asked() -> tuple[list[str], str]:
        async with clients[1] as client:
            ids = [model.id async for model in client.models.list()]
            return ids, (await client.models.retrieve("sim/m")).id

    ids, found = asyncio.run(asked())
    assert "sim/*" in ids
    assert found == "sim/m"


@pytest.mark.parametrize(
    "model", ["sim/*", "sim/gpt-*", "sim/gpt-?", "sim/gpt-?-mini", "sim", "nobody/m"]
)
def test_what_is_no_model_is_not_found(
    clients: tuple[Any, Any], gateway: Gateway, vendor: SimulatedVendor, model: str
) -> None:
    """And no vendor is asked for it."""
    with pytest.raises(NOT_FOUND) as caught:
        clients[0].models.retrieve(model)
    body: Any = vars(caught.value)["body"]
    assert body.get("error", body)["code"] == "model_not_found"
    if "/" in model:
        answer = gateway.post({"model": model, "prompt": "hi"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "model_not_found")
        assert answer.json()["error"]["param"] == "model"
    assert vendor.asked == []


def test_a_slash_in_a_name_may_be_coded(gateway: Gateway) -> None:
    for written in ("sim/a/b", "sim%2Fa%2Fb", "sim%2fa/b"):
        assert gateway.get(f"/models/{written}").json()["id"] == "sim/a/b"


def test_the_list_comes_in_pages_for_who_asks(gateway: Gateway) -> None:
    client = SGPClient(
        base_url=gateway.base_url.removesuffix("/v5"), api_key=gateway.api_key, account_id="acme"
    )
    everything = [model.id for model in client.models.list()]
    assert len(everything) > 5
    paged = client.models.list(limit=2)
    assert len(paged.items) == 2
    assert [model.id for model in paged] == everything
    backwards = client.models.list(limit=2, ending_before=everything[4])
    assert [model.id for model in backwards.items] == everything[2:4]
    assert [m.id for m in client.models.list(name="sim/*")] == ["sim/*"]
    assert gateway.get("/models?limit=0").json()["error"]["param"] == "limit"


def test_the_list_is_for_holders_of_a_key(gateway: Gateway) -> None:
    for path in ("/models", "/models/sim/m"):
        assert requests.get(f"{gateway.base_url}{path}", timeout=60).status_code == 401


def chat_models(gateway: Gateway, **query: Any) -> list[str]:
    """Return the names of the models for chat."""
    response = gateway.get("/chat/completions/models", params=query)
    assert response.status_code == 200, response.text
    body = response.json()
    assert body["object"] == "list"
    assert {it["model_type"] for it in body["items"]} <= {"chat_completion"}
    return [it["model_name"] for it in body["items"]]


def test_models_for_chat_are_sorted_by_name_and_paged(gateway: Gateway) -> None:
    names = chat_models(gateway)
    assert "sim/*" in names
    assert names == sorted(names)
    assert chat_models(gateway, sort_order="desc", sort_by="model_name") == names[::-1]
    assert chat_models(gateway, limit=2) == names[:2]
    assert chat_models(gateway, starting_after=names[1], limit=2) == names[2:4]
    assert chat_models(gateway, ending_before=names[2], limit=2) == names[:2]
    assert chat_models(gateway, model_vendor="sim") == ["sim/*"]
    assert chat_models(gateway, model_vendor="nobody") == []


def test_a_wrong_order_is_named(gateway: Gateway) -> None:
    response = gateway.get("/chat/completions/models", params={"sort_order": "up"})
    assert response.status_code == 400
    assert response.json()["error"]["param"] == "sort_order"
