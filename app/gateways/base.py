"""What a gateway is: pure functions between our vocabulary and one vendor wire. No I/O.

`app.transport.call` sends what `encode` returns; a reader is fed what comes back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from marshmallow.fields import Field

from app.vocabulary.completion import CompletionRequest, Ending
from app.vocabulary.errors import GatewayError

if TYPE_CHECKING:
    from app.gateways.decoding.reader import AnswerReader


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
    auth: str = "bearer"
    models: tuple[str, ...] = ("*",)
    native: tuple[str, ...] = ()
    fallbacks: tuple[str, ...] = ()
    retries: int = 2
    refuses: frozenset[str] = frozenset()
    drop_unsupported: bool = False
    list_prompts: bool = True
    max_n: int = 128
    max_stops: int = 4
    token_prompts: bool = False
    asks_usage: bool = True
    on_disconnect: str = "cancel"
    finish_reasons: Mapping[str, Ending] = field(default_factory=dict)
    timeouts: Timeouts = field(default_factory=Timeouts)
    quirks: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VendorRequest:
    """One HTTP request to a vendor. `dropped` names parameters left out, for the caller to know."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    dropped: tuple[str, ...] = ()


class Gateway(Protocol):
    """One wire format.

    refuses       parameters that the wire has no word for
    list_prompts  whether one call takes several prompts
    max_n         how many samples one call can give; the rest takes more calls
    quirks        the keys of a vendor's `quirks` table, each with its marshmallow field
    """

    refuses: ClassVar[frozenset[str]]
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


#: Ways to carry a key in a header, and those that sign each request instead.
AUTH_HEADERS = ("bearer", "basic", "x-api-key", "api-key", "x-goog-api-key")
SIGNED = ("google", "aws")


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


def single_prompt(request: CompletionRequest) -> str:
    """Return the prompt of a request that the completer has split: one text."""
    if not isinstance(request.prompt, str):
        raise TypeError("a chat gateway is given one text at a time")
    return request.prompt
