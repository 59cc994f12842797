"""Errors in responses with status 200 keep the vendor's message and class, and are not charged."""

import json
from typing import Any

import pytest

from tests.contract.answers.parts import JSON, SSE, Part
from tests.contract.answers.site import PROMPT_TOKENS, TEXT, TEXT_TOKENS, Site, books
from tests.contract.answers.wires import WIRES
from tests.support.vendor import Reply

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])

#: Errors, and the status, type and code that they mean to the caller.
CLASSES: list[tuple[Any, int, str, str | None]] = [
    (
        {"message": "Slow down.", "type": "rate_limit_error"},
        429,
        "rate_limit_error",
        "vendor_rate_limited",
    ),
    ({"message": "Slow down.", "code": 429}, 429, "rate_limit_error", "vendor_rate_limited"),
    (
        {"message": "Busy.", "type": "overloaded_error"},
        503,
        "vendor_error",
        "vendor_overloaded",
    ),
    ({"message": "Busy.", "code": 503}, 503, "vendor_error", "vendor_overloaded"),
    (
        {
            "message": "Too long.",
            "type": "invalid_request_error",
            "code": "context_length_exceeded",
        },
        400,
        "invalid_request_error",
        "context_length_exceeded",
    ),
    (
        {"message": "Too long.", "type": "BadRequestError", "code": 400},
        400,
        "invalid_request_error",
        None,
    ),
    (
        {"message": "Wrong key.", "type": "authentication_error"},
        502,
        "vendor_error",
        "vendor_authentication",
    ),
    ({"message": "It broke.", "type": "server_error"}, 502, "vendor_error", "vendor_failed"),
    ({"message": "It broke."}, 502, "vendor_error", "vendor_failed"),
    ("It broke.", 502, "vendor_error", "vendor_failed"),
]


def forms(error: Any) -> dict[str, bytes]:
    """Return the ways in which a stream reports an error."""
    body = json.dumps({"error": error}).encode()
    field = json.dumps(error).encode()
    return {
        "a bare line": body + b"\n",
        "a bare line, then a blank one": body + b"\n\n",
        "a bare line without an end": body,
        "an error field": b"error: " + field + b"\n\n",
        "an error field without a blank": b"error:" + field + b"\n\n",
        "an error field, whole": b"error: " + body + b"\n\n",
        "an event": b"data: " + body + b"\n\n",
        "an event, then the mark": b"data: " + body + b"\n\ndata: [DONE]\n\n",
        "a named event": b"event: error\ndata: " + body + b"\n\n",
        "a named event, its words alone": b"event: error\ndata: " + field + b"\n\n",
        "over several lines": json.dumps({"error": error}, indent=2).encode() + b"\n",
    }


FORMS = list(forms(""))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["text"])
@pytest.mark.parametrize(("error", "status", "kind", "code"), CLASSES)
def test_an_error_in_place_of_a_stream_has_its_class_its_words_and_no_cost(
    site: Site, name: str, form: str, error: Any, status: int, kind: str, code: str | None
) -> None:
    site.says(Reply([forms(error)[form]], 200, SSE))
    told = site.ask(WIRES[name], stream=True)
    assert told.error is not None, told
    assert (told.status, told.error["type"]) == (status, kind)
    if code != "vendor_authentication":  # whose words are of our key, and not for the caller
        words = error if isinstance(error, str) else error["message"]
        assert words in told.error["message"]
    assert told.error["code"] == code or code is None
    assert books(site.event()) == ("failed", 0, 0, "none", "none")


@BOTH
@pytest.mark.parametrize("label", [SSE, JSON, {"content-type": "text/plain"}])
@pytest.mark.parametrize("name", ["text", "chat", "azure-chat", "anthropic", "gemini", "llmengine"])
def test_an_error_object_has_its_class_whatever_its_label(
    site: Site, name: str, label: dict[str, str], stream: bool
) -> None:
    error = {"message": "Slow down.", "type": "rate_limit_error"}
    if name == "gemini":
        error = {"message": "Slow down.", "status": "RESOURCE_EXHAUSTED", "code": 429}  # type: ignore[dict-item]
    site.says(Reply([json.dumps({"error": error}).encode()], 200, label, framing="length"))
    told = site.ask(WIRES[name], stream=stream)
    assert told.error is not None
    assert (told.status, told.error["type"]) == (429, "rate_limit_error")
    assert "Slow down." in told.error["message"]
    assert books(site.event()) == ("failed", 0, 0, "none", "none")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["text", "chat", "azure-text", "llmengine", "fim"])
def test_an_error_in_the_middle_of_a_stream_keeps_the_vendors_words(
    site: Site, name: str, form: str
) -> None:
    wire = WIRES[name]
    error = {"message": "The engine caught fire.", "type": "server_error"}
    site.says(Reply([wire.event(Part(TEXT)), forms(error)[form]], 200, SSE))
    told = site.ask(wire, stream=True)
    assert told.error is not None
    assert "The engine caught fire." in told.error["message"]
    assert (told.texts, told.cut) == ({0: TEXT}, True)
    sides = ("estimated", "estimated")
    assert books(site.event()) == ("truncated", PROMPT_TOKENS, TEXT_TOKENS, *sides)


@pytest.mark.parametrize("packet", [1, 5])
@pytest.mark.parametrize("form", FORMS)
def test_an_error_may_come_in_pieces(site: Site, form: str, packet: int) -> None:
    error = {"message": "Slow down.", "type": "rate_limit_error"}
    site.says(Reply([forms(error)[form]], 200, SSE, packet=packet))
    told = site.ask("text/m", stream=True)
    assert told.status == 429, told
    assert books(site.event()) == ("failed", 0, 0, "none", "none")


def test_an_error_that_is_null_is_none(site: Site) -> None:
    wire = WIRES["text"]
    site.says(wire.whole(Part(TEXT, "stop"), error=None))
    assert site.ask(wire).texts == {0: TEXT}
    assert site.event().status == "completed"
