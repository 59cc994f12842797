"""Errors of OpenAI and compatible vendors: the other endpoint, and what single vendors mean."""

from typing import Any

import pytest

from app.gateways.decoding.failures import Detail
from app.gateways.openai.errors import failure
from app.vocabulary.errors import (
    VendorAuthentication,
    VendorFailed,
    VendorOverloaded,
    VendorRejected,
    WrongEndpoint,
)
from tests.gateways.decoding.error_shapes import openai
from tests.gateways.rows import Row

OPENAI = Row("openai", "OPENAI_API_KEY")
GROQ = Row("groq", "GROQ_API_KEY")
XAI = Row("xai", "XAI_API_KEY")
OPENROUTER = Row("openrouter", "OPENROUTER_API_KEY")

GUIDELINES = {"code": "The caller does not have permission", "error": "Violates usage guidelines."}
UPSTREAM = {
    "error": {
        "code": 403,
        "message": "Provider returned error",
        "metadata": {
            "provider_name": "xAI",
            "raw": '{"error": "Content violates usage guidelines."}',
        },
    }
}
FLAGGED = {"error": {"code": 403, "message": "Moderation: your input was flagged", "metadata": {}}}


@pytest.mark.parametrize(
    ("status", "message", "wants"),
    [
        (404, "This is a chat model and not supported in the v1/completions endpoint.", "chat"),
        (404, "This is not a chat model and thus not supported in v1/chat/completions.", "native"),
        (400, "The completion operation does not work with the specified model, m.", "chat"),
        (400, "The chatCompletion operation does not work with the specified model.", "native"),
    ],
)
def test_a_rejection_of_the_wrong_endpoint_names_the_other_one(
    status: int, message: str, wants: str
) -> None:
    error = OPENAI.error(status, openai(message, param="model", code="c"), x_should_retry="false")
    assert isinstance(error, WrongEndpoint)
    assert (error.wants, error.status, error.vendor_status) == (wants, status, status)
    told = error.body()["error"]
    assert (told["message"], told["param"], told["code"]) == (message, "model", "c")
    assert error.headers == {"x-should-retry": "false"}


@pytest.mark.parametrize(
    "message",
    [
        "This model is only supported in v1/responses and not in v1/chat/completions.",
        "The model `m` does not exist or you do not have access to it.",
        None,
    ],
)
def test_other_rejections_name_no_endpoint(message: str | None) -> None:
    error = OPENAI.error(404, {"error": message})
    assert isinstance(error, VendorRejected)
    assert not isinstance(error, WrongEndpoint)


@pytest.mark.parametrize(
    ("row", "body"),
    [(XAI, GUIDELINES), (OPENROUTER, FLAGGED), (OPENROUTER, UPSTREAM)],
    ids=["xai", "openrouter", "openrouter's vendor"],
)
def test_a_403_of_a_vendors_moderation_rejects_the_prompt(row: Row, body: Any) -> None:
    error = row.error(403, body)
    assert isinstance(error, VendorRejected)
    assert error.status == 400
    assert isinstance(row.error(403, openai("No access.")), VendorAuthentication)


def test_moderation_is_recognized_in_a_response_with_status_200_too() -> None:
    assert isinstance(OPENROUTER.refusal(FLAGGED), VendorRejected)


def test_other_vendors_403_means_our_credentials_whatever_its_message() -> None:
    assert isinstance(OPENAI.error(403, GUIDELINES), VendorAuthentication)


def test_what_llama_cpp_rejects_as_a_server_error_is_no_failure_of_it() -> None:
    """It would be tried again, and open the circuit for everybody."""
    row = Row("llamacpp", base_url="http://l")
    for message in (
        "tools param requires --jinja flag",
        "image input is not supported - hint: if this is unexpected, you may need the mmproj",
        "Cannot use both json_schema and grammar",
    ):
        error = row.error(500, {"error": {"code": 500, "message": message, "type": "server_error"}})
        assert isinstance(error, VendorRejected)
        assert error.message == message
    assert isinstance(row.error(500, openai("Compute error.", "server_error")), VendorFailed)


def test_groqs_498_means_that_it_has_no_capacity() -> None:
    body = openai("Full.", None, None, "capacity_exceeded")
    error = GROQ.error(498, body)
    assert isinstance(error, VendorOverloaded)
    assert "Full." in error.message
    assert isinstance(failure(GROQ.vendor, None, Detail(status=498)), VendorOverloaded)
    assert type(OPENAI.error(498, body)) is VendorFailed
