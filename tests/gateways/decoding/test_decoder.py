"""What all decoders inherit: reported errors, frames as they are, and no fast path."""

from typing import Any

import pytest

from app.gateways.decoding.decoder import Decoder
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Completion, CompletionRequest, Usage
from app.vocabulary.errors import GatewayError, VendorFailed, VendorRateLimited

VENDOR = Vendor(name="sim", gateway="openai", base_url="http://v.invalid")


class Plain(Decoder):
    """A format whose every payload is a text."""

    def read(self, payload: Any) -> Completion | None:  # noqa: ARG002
        return None

    def read_whole(self, payload: Any) -> Completion:
        raise NotImplementedError

    def usage(self, payload: Any) -> Usage | None:  # noqa: ARG002
        return None


@pytest.fixture
def decoder() -> Plain:
    """A decoder of a stream."""
    return Plain(VENDOR, CompletionRequest(model="sim/m", prompt="p", stream=True))


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (b'{"error": {"message": "Slow down.", "code": 429}}', VendorRateLimited, "Slow down."),
        (b"out of memory", VendorFailed, "out of memory"),
        (b"\xff", VendorFailed, "\ufffd"),
        (b"{}", VendorFailed, "failed."),
    ],
)
def test_an_error_event_need_not_be_json(
    decoder: Plain, data: bytes, kind: type[GatewayError], message: str
) -> None:
    error = decoder.reported(data)
    assert type(error) is kind
    assert message in error.message


def test_a_frame_is_one_payload_and_is_parsed_in_full(decoder: Plain) -> None:
    assert list(decoder.unwrap("name", {"a": 1})) == [{"a": 1}]
    assert decoder.template() is None
