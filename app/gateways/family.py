"""The gateways for one `gateway` name of the vendor table, and which requests take which."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from marshmallow.fields import Field

from app.gateways.base import ChatGateway, Gateway
from app.gateways.bridge import Bridge
from app.vendors.entry import GatewaySpec
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.request import Endpoint

#: The gateway that takes an endpoint's requests as they are, and the one that converts them.
Doors = tuple[Gateway[Any] | None, Bridge | None]


@dataclass(frozen=True)
class Family:
    """The gateways of one API format.

    `native` sends a prompt unchanged; `chat` sends messages. The `native` globs of a vendor entry
    decide which of its models complete texts through which. `reports_names`: the vendor can be
    asked for the model that its responses name; otherwise it is asked for deployments of models.
    """

    native: Gateway[CompletionRequest] | None = None
    chat: ChatGateway | None = None
    reports_names: bool = True

    @cached_property
    def _doors(self) -> Mapping[Endpoint, Doors]:
        bridge = Bridge(self.chat) if self.chat else None
        return {"completions": (self.native, bridge), "chat.completions": (self.chat, None)}

    def doors(self, endpoint: Endpoint) -> Doors:
        """Return the gateways for requests to an endpoint."""
        return self._doors[endpoint]

    def spec(self) -> GatewaySpec:
        """Return the traits of the family that the vendor table needs."""
        quirks: dict[str, Field[Any]] = {}
        for gateway in (self.native, self.chat):
            quirks |= gateway.quirks if gateway else {}
        return GatewaySpec(takes_prompts=self.native is not None, quirks=quirks)
