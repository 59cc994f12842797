"""The base of the decoders, one for each API format: from a frame's JSON to a chunk.

A decoder does not decide whether a response is complete; `assembly` does.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from app.formats import strict_json
from app.gateways.decoding import failures
from app.gateways.decoding.chunk_template import ChunkTemplate
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Completion, Usage
from app.vocabulary.errors import GatewayError
from app.vocabulary.request import GenerationRequest


class Decoder(ABC):
    """Decodes the frames of one response.

    `is_over` is set once the format's own end mark has come. `is_alive` tells whether the last
    payload shows that the model is at work, even if it holds nothing for the caller.
    """

    #: Whether a usage beside one choice of several may be of that choice alone.
    counts_choices: bool = False

    def __init__(self, vendor: Vendor, request: GenerationRequest) -> None:
        self.vendor = vendor
        self.request = request
        self.is_over = False
        self.is_alive = True

    @abstractmethod
    def read(self, payload: Any) -> Completion | None:
        """Decode a stream's event; its choices have the vendor's indices. None: nothing in it.

        Raises: GatewayError if it is an error or malformed.
        """

    @abstractmethod
    def read_whole(self, payload: Any) -> Completion:
        """Decode a whole response, like `read`."""

    @abstractmethod
    def usage(self, payload: Any) -> Usage | None:
        """Return the usage in a payload, whatever else it holds. Never raises."""

    def reported(self, data: bytes) -> GatewayError:
        """Return the error of an event named `error`, whose data need not be JSON."""
        try:
            detail = failures.detail_of(strict_json.load_vendor(data))
        except ValueError:
            detail = failures.Detail(message=data.decode("utf-8", "replace"))
        return self.failure(detail)

    def failure(self, detail: failures.Detail) -> GatewayError:
        """Return the error for an error body that came with status 200."""
        return failures.failure(self.vendor, None, detail)

    def unwrap(self, name: str | None, value: Any) -> Iterable[Any]:  # noqa: ARG002 - overrides do
        """Return the payloads in the JSON value of a frame with this event name.

        Raises: GatewayError.
        """
        return (value,)

    def template(self) -> ChunkTemplate | None:
        """Return a fast path for a stream's chunks; None if the format has none."""
        return None
