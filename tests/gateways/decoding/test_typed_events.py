"""Events with a type: unknown ones are ignored, and errors are errors."""

from collections.abc import Mapping
from typing import Any

import pytest

from app.gateways.decoding.typed_events import TypedEvents, joined_text, name_or, text_of
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Completion, CompletionRequest, Usage
from app.vocabulary.errors import GatewayError, VendorFailed, VendorOverloaded, VendorRejected

VENDOR = Vendor(name="sim", gateway="openai", base_url="http://v.invalid")


class Letters(TypedEvents):
    """A format with one type of event."""

    def read_whole(self, payload: Any) -> Completion:
        raise NotImplementedError

    def usage(self, payload: Any) -> Usage | None:  # noqa: ARG002
        return None

    def _event(self, kind: str, event: Mapping[str, Any]) -> Completion | None:
        return self._chunk(event["text"]) if kind == "letters" else None


@pytest.fixture
def decoder() -> Letters:
    """A decoder of a stream."""
    return Letters(VENDOR, CompletionRequest(model="sim/m", prompt="p", stream=True))


def test_an_event_is_decoded_by_its_type(decoder: Letters) -> None:
    chunk = decoder.read({"type": "letters", "text": "ab"})
    assert chunk is not None
    assert [choice.text for choice in chunk.choices] == ["ab"]
    assert chunk.model == "m"
    assert decoder.read({"type": "new"}) is None


def test_an_event_without_text_is_a_sign_of_life_without_a_choice(decoder: Letters) -> None:
    chunk = decoder.read({"type": "letters", "text": ""})
    assert chunk is not None
    assert chunk.choices == ()


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        ({"type": "error", "error": {"type": "overloaded_error"}}, VendorOverloaded),
        ({"type": "letters", "error": {"code": 400, "message": "No."}}, VendorRejected),
        ({"message": "Sorry."}, VendorFailed),
        ({}, VendorFailed),
        ([], VendorFailed),
        (5, VendorFailed),
    ],
)
def test_an_error_or_an_event_without_a_type_is_a_failure(
    decoder: Letters, payload: Any, kind: type[GatewayError]
) -> None:
    with pytest.raises(kind):
        decoder.read(payload)


def test_a_name_is_a_text_that_is_not_empty() -> None:
    assert [name_or(value, "d") for value in ("n", "", None, 5)] == ["n", "d", "d", "d"]


def test_a_messages_text_is_that_of_its_text_blocks() -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
    ]
    assert joined_text(VENDOR, blocks) == "ab"
    assert joined_text(VENDOR, "plain") == "plain"
    assert joined_text(VENDOR, []) == ""


@pytest.mark.parametrize("content", [None, 5, {}, ["a"], [{"type": "text"}]])
def test_any_other_content_is_a_failure(content: Any) -> None:
    with pytest.raises(VendorFailed):
        joined_text(VENDOR, content)
    with pytest.raises(VendorFailed):
        text_of(VENDOR, {"text": 5})
