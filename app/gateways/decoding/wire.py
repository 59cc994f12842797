"""What a wire is to the reader of answers: the meaning of its frames, and nothing of their worth.

One subclass for each API format; `app.gateways.decoding.reader` judges for all of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

from app.formats import strict_json as json_wire
from app.gateways.decoding import failures
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Completion, CompletionRequest, Usage
from app.vocabulary.errors import GatewayError


class Wire(ABC):
    """What the frames of one answer mean on one wire. It judges nothing.

    `is_over` is set when the wire's own end mark has come; `is_alive` says of what was read last
    whether it shows that the model is at work, also where it holds nothing for the caller.
    """

    #: The name of the field that holds a usual chunk's text; b"" where chunks are not alike.
    text_key: ClassVar[bytes] = b""
    #: Whether a usage beside one choice of several may be of that choice alone.
    counts_choices: ClassVar[bool] = False

    def __init__(self, vendor: Vendor, request: CompletionRequest) -> None:
        self.vendor = vendor
        self.request = request
        self.is_over = False
        self.is_alive = True

    @abstractmethod
    def read(self, payload: Any) -> Completion | None:
        """Return what an event says, its choices with the vendor's indices; None for nothing.

        Raises: GatewayError when it is an error in disguise, or nonsense.
        """

    @abstractmethod
    def read_whole(self, payload: Any) -> Completion:
        """Return what a whole answer says, as `read`."""

    @abstractmethod
    def usage(self, payload: Any) -> Usage | None:
        """Return the usage in a frame, whatever else it holds. Never raises."""

    def reported(self, data: bytes) -> GatewayError:
        """Return the error of an event that is named so, whose words need not be JSON."""
        try:
            said = failures.detail(json_wire.load_vendor(data))
        except ValueError:
            said = failures.Detail(message=data.decode("utf-8", "replace"))
        return failures.failure(self.vendor, None, said)

    def unwrap(self, name: str | None, value: Any) -> Iterable[Any]:  # noqa: ARG002 - some do
        """Return what is to be read of a frame of this name, given its JSON value.

        Raises: GatewayError.
        """
        return (value,)
