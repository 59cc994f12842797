"""The models that clients ask through Tollgate: simulated vendors, and the sandbox."""

from dataclasses import dataclass

from tests.contract.clients import vendor_turns
from tests.contract.clients.scenes import Turn
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.gateway import Gateway
from tests.support.vendor import Asked, Reply, SimulatedVendor


@dataclass
class Backend:
    """A model, the vendor that has it, and the Tollgate in front of it."""

    gateway: "Gateway"
    vendor: SimulatedVendor
    model: str

    def says(self, *turns: Turn) -> None:
        """Have the vendor say these turns, one to each request."""
        waiting = list(turns)

        def answer(asked: Asked) -> Reply:
            return vendor_turns.answer(asked, waiting.pop(0))

        self.vendor.default = answer

    @property
    def last_asked(self) -> Asked:
        """What the vendor was asked last."""
        return self.vendor.asked[-1]

    def check_usage(self, usage):
        assert usage.total_tokens == 18

    def check_results(self):
        assert b"12 degrees" in self.last_asked.raw
        assert b"3 degrees" in self.last_asked.raw

    def check_counts(self, prompt, completion, total):
        assert (prompt, completion, total) == (11, 7, 18)

    @property
    def address(self):
        return {
            "base_url": self.gateway.base_url,
            "api_key": self.gateway.api_key,
            "model": self.model,
        }
