"""A simulated vendor that gives scripted answers of chat, in order, to requests that are right."""

from collections import deque
from collections.abc import Callable
from typing import Protocol

from tests.support.vendor import Asked, Reply, SimulatedVendor
from tests.support.vendors.chat.script import Answer


class Speaking(Protocol):
    """A wire of chat."""

    def check(self, asked: Asked) -> Reply | None:
        """Return the vendor's refusal of a request that it would refuse, or None."""
        ...

    def says(self, asked: Asked, said: Answer) -> Reply:
        """Return an answer, whole or streamed as the request wants it."""
        ...


def speak(vendor: SimulatedVendor, wire: Speaking, *answers: Answer) -> None:
    """Answer the next requests that the wire takes; the last answer is given again and again."""
    left = deque(answers)

    def answer(asked: Asked) -> Reply:
        refusal = wire.check(asked)
        return refusal or wire.says(asked, left.popleft() if len(left) > 1 else left[0])

    vendor.default = answer


#: A function that makes a vendor speak a wire.
Speak = Callable[..., None]
