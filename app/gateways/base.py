"""What a gateway is: pure functions between our vocabulary and one vendor wire. No I/O.

`app.transport.call` sends what `encode` returns; a reader is fed what comes back.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from marshmallow.fields import Field

from app.vendors.entry import GatewaySpec
from app.vendors.vendor import Vendor
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import GatewayError
from app.vocabulary.vendor_request import VendorRequest

if TYPE_CHECKING:
    from app.gateways.decoding.reader import AnswerReader


class Gateway(Protocol):
    """One wire format.

    refuses       parameters that the wire has no word for
    list_prompts  whether one call takes several prompts
    max_n         how many samples one call can give; the rest takes more calls
    quirks        the keys of a vendor's `quirks` table, each with its marshmallow field
    """

    unsupported: ClassVar[frozenset[str]]
    list_prompts: ClassVar[bool]
    max_n: ClassVar[int]
    quirks: ClassVar[Mapping[str, Field[Any]]]

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        """Return the vendor's request.

        Raises: UnsupportedParameter.
        """
        ...

    def reader(self, vendor: Vendor, request: CompletionRequest) -> "AnswerReader":
        """Return the reader of one answer, whole or streamed, made anew for each call."""
        ...

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return the error that a response whose status is no success means to the caller."""
        ...


def plain_mapping(value: Any) -> Mapping[str, Any]:
    """Return `value` when it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


@dataclass(frozen=True, slots=True)
class Family:
    """The gateways behind one name of the vendor table.

    `native` takes a prompt as it is; `chat` takes it as a user's message. A vendor's `native`
    globs say which of its models go which way.
    """

    native: Gateway | None = None
    chat: Gateway | None = None

    def spec(self) -> GatewaySpec:
        """Return what the vendor table must know of the family."""
        quirks: dict[str, Field[Any]] = {}
        for gateway in (self.native, self.chat):
            quirks |= gateway.quirks if gateway else {}
        return GatewaySpec(takes_prompts=self.native is not None, quirks=quirks)


def single_prompt(request: CompletionRequest) -> str:
    """Return the prompt of a request, which was split before: one text."""
    if not isinstance(request.prompt, str):
        raise TypeError("a chat gateway is given one text at a time")
    return request.prompt
