"""A request beyond a model's context is one error, whichever vendor rejects it."""

import json
from typing import Any

import pytest

from app.gateways.decoding import failures
from app.gateways.decoding.overflow import is_overflow
from app.vendors.vendor import Vendor
from app.vocabulary.errors import VendorFailed, VendorRateLimited, VendorRejected
from tests.gateways.chat_rows import ChatRow
from tests.gateways.openai.chat_vendors import ROWS
from tests.gateways.openai.chat_wire import STREAM
from tests.support.vendor import event

VENDOR = Vendor(name="v", gateway="openai", base_url="http://v")

#: What vendors say, with the numbers that the caller is to get.
MESSAGES = [
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "The input token count (1091639) exceeds the maximum number of tokens allowed (1048576).",
    "Unable to submit request because the input token count is 40000 but the model supports 32768.",
    "Input is too long for requested model.",
    "The number of input tokens exceeds the limit of 8192",
    "This model's maximum context length is 128000 tokens. However, you requested 130000 tokens.",
    "This model's maximum prompt length is 131072 but the request contains 150000 tokens.",
    "Please reduce the length of the messages or completion.",
    "The prompt is too long: 9000, model maximum context length: 8191",
    "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
    "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "Input validation error: `inputs` must have less than 8192 tokens. Given: 9000",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000",
    "too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs.",
    "Your input exceeds the context window of this model.",
    "prompt too long; exceeded max context length by 42 tokens",
    "The decoder prompt (length 93016) is longer than the maximum model length of 65536.",
    "Input length 5000 exceeds the maximum allowed input length of 4096 tokens",
    "Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)",
    "Prompt exceeds max length",
    "Range of input length should be [1, 30000]",
    "invalid params, context window exceeds limit (2013)",
    "The number of tokens to keep from the initial prompt is greater than the context length",
]


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("status", [400, 413, 422])
def test_it_is_a_400_with_openais_code_and_the_vendors_numbers(message: str, status: int) -> None:
    detail = failures.Detail(message=message, code="INVALID_ARGUMENT", param="messages")
    error = failures.failure(VENDOR, status, detail)
    assert (error.status, error.code) == (400, "context_length_exceeded")
    assert (error.message, error.param) == (message, "messages")
    assert error.vendor_status == status
    assert not error.billable
    assert isinstance(error, VendorRejected)


@pytest.mark.parametrize("name", ["code", "type"])
def test_a_code_or_a_type_says_it_too(name: str) -> None:
    fields: dict[str, Any] = {name: "exceed_context_size_error"}
    error = failures.failure(VENDOR, 400, failures.Detail(**fields))
    assert error.code == "context_length_exceeded"
    assert is_overflow(None, "too_many_prompt_tokens")


def test_a_code_that_says_other_things_too_does_not_say_it_alone() -> None:
    """Mistral's 3051 stands for invalid arguments of any kind."""
    told = failures.Detail(message="Logprobs are not enabled for this model", code="3051")
    assert failures.failure(VENDOR, 400, told).code == "3051"


@pytest.mark.parametrize(
    "message",
    [
        None,
        "",
        "Invalid value for `max_tokens`.",
        "Additional properties are not allowed: context_length_exceeded_behavior",
        "Unsupported parameter: 'context'.",
        "x" * 5000 + "prompt is too long",
    ],
)
def test_other_rejections_stay_what_they_are(message: str | None) -> None:
    error = failures.failure(VENDOR, 400, failures.Detail(message=message, code="c"))
    assert error.code == "c"


def test_words_do_not_outrank_a_status() -> None:
    detail = failures.Detail(message="too many tokens")
    assert isinstance(failures.failure(VENDOR, 429, detail), VendorRateLimited)
    assert isinstance(failures.failure(VENDOR, 500, detail), VendorFailed)


@pytest.mark.parametrize(
    ("row", "body"),
    [
        (ROWS["openai"], {"error": {"message": MESSAGES[6], "code": "context_length_exceeded"}}),
        (ROWS["vllm"], {"object": "error", "message": MESSAGES[6], "code": 400}),
        (ROWS["together"], {"error": {"message": MESSAGES[13], "type": "validation"}}),
        (ROWS["llmengine"], {"detail": MESSAGES[6]}),
        (
            ChatRow("anthropic", {"ANTHROPIC_API_KEY": "k"}),
            {"type": "error", "error": {"type": "invalid_request_error", "message": MESSAGES[0]}},
        ),
        (
            ChatRow("gemini", {"GEMINI_API_KEY": "k"}),
            {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": MESSAGES[2]}},
        ),
        (
            ChatRow("bedrock", {"AWS_REGION": "us-east-1"}),
            {"__type": "ValidationException", "message": MESSAGES[4]},
        ),
        (ChatRow("cohere", {"CO_API_KEY": "k"}), {"message": MESSAGES[15]}),
    ],
    ids=lambda it: it.vendor.name if isinstance(it, ChatRow) else "",
)
def test_every_wire_says_it_in_the_same_words(row: ChatRow, body: dict[str, Any]) -> None:
    error = row.gateway.decode_error(row.vendor, 400, {}, json.dumps(body).encode())
    assert (error.status, error.code) == (400, "context_length_exceeded")
    assert any(character.isdigit() for character in error.message) or body.get("__type")


@pytest.mark.parametrize("name", ["openai", "vllm", "tgi", "openrouter"])
@pytest.mark.parametrize(
    "error", [{"message": MESSAGES[6]}, {"message": MESSAGES[6], "code": 400}, MESSAGES[6]]
)
def test_an_error_in_a_stream_is_the_same(name: str, error: Any) -> None:
    for before, billable in (([], False), (STREAM[:2], True)):
        found = ROWS[name].broken([*before, event({"error": error})])
        assert (found.status, found.code) == (400, "context_length_exceeded")
        assert found.billable == billable
