"""What a gateway is: pure functions between our vocabulary and one vendor wire. No I/O.

`app.gateways.transport` sends what `encode` returns and feeds a decoder what comes back.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from app.completion import Completion, CompletionRequest
from app.errors import GatewayError


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Deadlines of one vendor call, in seconds.

    Bytes that carry no answer (keep-alive comments, blank lines) do not extend any of them.
    """

    connect_s: float = 5.0
    #: Of a stream: from the request to the first chunk.
    first_token_s: float = 300.0
    #: Of a stream: from one chunk to the next.
    idle_s: float = 120.0
    total_s: float = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """One entry of the vendor table; see docs/vendors.md for what each key means.

    `missing` names the setting without which this vendor cannot be called, or is None.
    """

    name: str
    gateway: str
    base_url: str
    api_key: str | None = field(default=None, repr=False)
    missing: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    models: tuple[str, ...] = ("*",)
    refuses: frozenset[str] = frozenset()
    drop_unsupported: bool = False
    token_prompts: bool = False
    asks_usage: bool = True
    on_disconnect: str = "cancel"
    timeouts: Timeouts = field(default_factory=Timeouts)


@dataclass(frozen=True, slots=True)
class VendorRequest:
    """One HTTP request to a vendor. `dropped` names parameters left out, for the caller to know."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    dropped: tuple[str, ...] = ()


class StreamDecoder(Protocol):
    """Bytes of one streamed answer to chunks; made anew for each call."""

    def feed(self, packet: bytes) -> Iterable[Completion]:
        """Yield the chunks that `packet` completes.

        Raises: GatewayError when the vendor reports a failure or sends nonsense.
        """
        ...

    def close(self) -> Iterable[Completion]:
        """Yield what the end of the connection completes.

        Raises: VendorFailed when the answer is not whole.
        """
        ...


class Gateway(Protocol):
    """One wire format."""

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        """Return the vendor's request.

        Raises: UnsupportedParameter.
        """
        ...

    def decode(self, vendor: Vendor, request: CompletionRequest, body: bytes) -> Completion:
        """Return the answer in a response with status 200.

        Raises: GatewayError when it holds an error or nonsense: 200 is no proof of success.
        """
        ...

    def stream_decoder(self, vendor: Vendor, request: CompletionRequest) -> StreamDecoder:
        """Return the decoder for one streamed answer."""
        ...

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return the error that a response with a status other than 200 means to the caller."""
        ...


def bearer(vendor: Vendor) -> dict[str, str]:
    """Return the headers that authenticate with a bearer token, none without a key."""
    return {"authorization": f"Bearer {vendor.api_key}"} if vendor.api_key else {}


def plain_mapping(value: Any) -> Mapping[str, Any]:
    """Return `value` when it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}
