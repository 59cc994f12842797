"""The interface of a gateway: it converts between the domain types and one API format. No I/O.

`app.transport.call` sends the request that `encode` returns; a reader is fed the response.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from marshmallow.fields import Field

from app.gateways.decoding.reader import ResponseReader
from app.vendors.entry import GatewaySpec
from app.vendors.vendor import Vendor
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import GatewayError
from app.vocabulary.vendor_request import VendorRequest


class Gateway(Protocol):
    """One API format.

    unsupported   parameters that have no equivalent in the format
    list_prompts  whether one call accepts several prompts
    max_n         maximum number of samples per call; more need further calls
    quirks        the keys of a vendor entry's `quirks` table, each with its marshmallow field
    """

    unsupported: ClassVar[frozenset[str]]
    list_prompts: ClassVar[bool]
    max_n: ClassVar[int]
    quirks: ClassVar[Mapping[str, Field[Any]]]

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        """Return the HTTP request: the caller's parameters, and required fields of the format.

        Raises: InvalidRequest, mostly UnsupportedParameter.
        """
        ...

    def reader(self, vendor: Vendor, request: CompletionRequest) -> ResponseReader:
        """Return a new reader for one response, whole or streamed."""
        ...

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return the error of a response without success."""
        ...


@dataclass(frozen=True, slots=True)
class Family:
    """The gateways for one `gateway` name of the vendor table.

    `native` sends a prompt unchanged; `chat` sends it as a user's message. The `native` globs of a
    vendor entry decide which of its models use which.
    """

    native: Gateway | None = None
    chat: Gateway | None = None

    def spec(self) -> GatewaySpec:
        """Return the traits of the family that the vendor table needs."""
        quirks: dict[str, Field[Any]] = {}
        for gateway in (self.native, self.chat):
            quirks |= gateway.quirks if gateway else {}
        return GatewaySpec(takes_prompts=self.native is not None, quirks=quirks)


def single_prompt(request: CompletionRequest) -> str:
    """Return the only prompt of a sub-request, a text."""
    if not isinstance(request.prompt, str):
        raise TypeError("a gateway for one prompt per call got several, or token ids")
    return request.prompt
