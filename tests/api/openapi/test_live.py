"""The app answers to whatever its description allows, and to what it forbids, as described."""

from typing import Any

import pytest
import schemathesis
from hypothesis import given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from app.api.openapi.document import describe
from app.ledger.posting import Ledger
from tests.support.events import usage_event
from tests.support.gateway import Gateway
from tests.support.vendor import SimulatedVendor, completed
from tests.support.vendor_chat import chatted

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]

POSITIVE, NEGATIVE = GenerationMode.POSITIVE, GenerationMode.NEGATIVE

#: Fields of a chat request that need another field, which a schema of each field cannot say.
TOGETHER = (
    *("max_completion_tokens", "top_logprobs", "stream_options", "tools", "tool_choice"),
    *("functions", "function_call"),
)

#: Every operation; with wrong requests, too, where there is anything to be wrong.
OPERATIONS = [
    (path, method, mode)
    for path, methods in describe()["paths"].items()
    for method, operation in methods.items()
    for mode in (POSITIVE, NEGATIVE)
    if mode is POSITIVE or "requestBody" in operation or "parameters" in operation
]


@pytest.mark.parametrize(("path", "method", "mode"), OPERATIONS)
def test_no_request_ends_in_a_fault_or_in_an_answer_that_is_not_described(
    gateway: Gateway, vendor: SimulatedVendor, path: str, method: str, mode: GenerationMode
) -> None:
    """Valid requests find faults behind the checks, wrong ones find those in them."""
    # Its answers are as long as they are asked to be, up to billions of words.
    vendor.default = lambda asked: (
        chatted(asked.body)
        if "messages" in asked.body
        else completed(asked.body | {"max_tokens": 3})
    )
    secret = gateway.add_account("other", "completions", "usage", "admin")
    Ledger(gateway.engine).post([usage_event(event_id="e1")])
    root = gateway.base_url.removesuffix("/v5")
    operation = schemathesis.openapi.from_url(f"{root}/openapi.json")[path][method]
    seen = set()

    @given(case=operation.as_strategy(generation_mode=mode), model_exists=st.booleans())
    @settings(max_examples=60, deadline=None, derandomize=True, database=None)
    def asked(case: Case[Any], model_exists: bool) -> None:
        if model_exists and isinstance(case.body, dict) and "model" in case.body:
            case.body["model"] = "sim/m"
            case.headers.pop("x-selected-account-id", None)
        if model_exists and mode is POSITIVE and "model_id" in case.path_parameters:
            case.path_parameters["model_id"] = "sim/m"
        if model_exists and mode is POSITIVE and "any_id" in case.path_parameters:
            case.path_parameters["any_id"] = "e1"
        headers = {"x-api-key": secret}
        seen.add(case.call_and_validate(checks=CHECKS, headers=headers, timeout=60).status_code)

    asked()
    assert seen & ({200} if mode is POSITIVE else {400, 404})
