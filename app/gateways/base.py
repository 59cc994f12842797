"""The interface of a gateway: it converts between the domain types and one API format. No I/O.

`app.transport.call` sends the request that `encode` returns; a reader is fed the response.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, TypeVar

from marshmallow.fields import Field

from app.gateways.decoding.decoder import Decoder
from app.gateways.decoding.framing import Framing
from app.gateways.decoding.reader import ResponseReader
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import GatewayError
from app.vocabulary.request import GenerationRequest
from app.vocabulary.vendor_request import VendorRequest

R_contra = TypeVar("R_contra", bound=GenerationRequest, contravariant=True)


class Gateway(Protocol[R_contra]):
    """One API format, for one kind of request."""

    @property
    def unsupported(self) -> frozenset[str]:
        """Parameters that have no equivalent in the format."""
        ...

    @property
    def list_prompts(self) -> bool:
        """Whether one call accepts several prompts."""
        ...

    @property
    def max_n(self) -> int:
        """Maximum number of samples per call; more need further calls."""
        ...

    @property
    def quirks(self) -> Mapping[str, Field[Any]]:
        """The keys of a vendor entry's `quirks` table, each with its marshmallow field."""
        ...

    def encode(self, vendor: Vendor, request: R_contra) -> VendorRequest:
        """Return the HTTP request: the caller's parameters, and required fields of the format.

        Raises: InvalidRequest, mostly UnsupportedParameter.
        """
        ...

    def reader(self, vendor: Vendor, request: R_contra) -> ResponseReader:
        """Return a new reader for one response, whole or streamed."""
        ...

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return the error of a response without success."""
        ...


class ChatGateway(ABC):
    """The base of gateways for chat; `app.gateways.bridge` completes texts through them.

    `unsupported`, `max_n` and `quirks` are as in `Gateway`.
    """

    unsupported: ClassVar[frozenset[str]] = frozenset()
    list_prompts: ClassVar[bool] = False
    max_n: ClassVar[int] = 1
    quirks: ClassVar[Mapping[str, Field[Any]]] = {}

    @abstractmethod
    def encode(self, vendor: Vendor, request: ChatRequest) -> VendorRequest:
        """Return the HTTP request, like `Gateway.encode`."""

    @abstractmethod
    def decoder(self, vendor: Vendor, request: ChatRequest) -> Decoder:
        """Return a new decoder for one response."""

    @abstractmethod
    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return the error of a response without success."""

    def framing(self, vendor: Vendor) -> Framing | None:  # noqa: ARG002 - overrides do
        """Return how a response is divided into frames; None for events or JSON."""
        return None

    def reader(self, vendor: Vendor, request: ChatRequest) -> ResponseReader:
        """Return a new reader for one response, whole or streamed."""
        return ResponseReader(self.decoder(vendor, request), self.framing(vendor))


def single_prompt(request: CompletionRequest) -> str:
    """Return the only prompt of a sub-request, a text."""
    if not isinstance(request.prompt, str):
        raise TypeError("a gateway for one prompt per call got several, or token ids")
    return request.prompt
