"""The parameters that a model takes are those with which a request can be planned."""

from typing import cast

import pytest

from app.api.model_parameters import CHAT_SAMPLES, TEXT_SAMPLES, parameters_of
from app.api.schemas.chat.request import load_chat_request
from app.api.schemas.completion import load_completion_request
from app.gateways.families import GATEWAYS
from app.serving.routing import Router
from app.serving.service import CompletionService
from app.vendors.table import VendorTable
from app.vocabulary.chat.parameters import CHAT_PARAMETERS
from app.vocabulary.completion import PARAMETERS
from app.vocabulary.request import GenerationRequest
from tests.serving.engine import entry

URL = "http://127.0.0.1:1/v1"


class Planner:
    """What finds out of a request what its vendor would not get."""

    def __init__(self) -> None:
        entries = [
            entry("open", URL),
            entry("strict", URL, unsupported=frozenset({"seed", "tools"})),
            entry("lax", URL, unsupported=frozenset({"seed"}), drop_unsupported=True),
            entry("old", URL, gateway="llmengine_v1"),
        ]
        self._router = Router(VendorTable(entries), GATEWAYS)

    def dropped(self, request: GenerationRequest) -> tuple[str, ...]:
        return self._router.plan(self._router.candidates(request)[0], request).dropped


@pytest.fixture
def planner() -> CompletionService:
    return cast(CompletionService, Planner())


def test_each_parameter_has_a_sample_that_the_contract_allows() -> None:
    assert set(TEXT_SAMPLES) == set(PARAMETERS)
    assert set(CHAT_SAMPLES) == {*CHAT_PARAMETERS, "max_completion_tokens"}
    for fields in TEXT_SAMPLES.values():
        load_completion_request({"model": "a/b", "prompt": "p", **fields})
    for fields in CHAT_SAMPLES.values():
        messages = [{"role": "user", "content": "p"}]
        load_chat_request({"model": "a/b", "messages": messages, **fields})


def test_what_a_vendor_rejects_or_does_not_get_is_not_among_them(
    planner: CompletionService,
) -> None:
    whole = parameters_of(planner, "chat.completions", "open/m")
    assert whole is not None
    assert {"seed", "tools", "tool_choice"} <= set(whole)
    strict = parameters_of(planner, "chat.completions", "strict/m")
    assert strict is not None
    assert {"seed", "tools"}.isdisjoint(strict)
    lax = parameters_of(planner, "chat.completions", "lax/m")
    assert lax is not None
    assert "seed" not in lax
    assert "tools" in lax


def test_an_endpoint_that_a_vendor_has_not_has_none(planner: CompletionService) -> None:
    assert parameters_of(planner, "chat.completions", "old/m") is None
    assert parameters_of(planner, "completions", "old/m") is not None
    assert parameters_of(planner, "completions", "nobody/m") is None
