"""What each vendor call of a request used, where one event's figures cannot tell.

Money is worked out call by call: a long prompt makes its own call dearer, and no other. Pure.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from app.vocabulary.completion import USAGE_COUNTS, Usage

_TEXTS = ("vendor", "model", "model_served", "service_tier")


class CallUsage(NamedTuple):
    """The tokens of one vendor call, and all that its price hangs on.

    vendor          the vendor entry that was called, which need not be the one asked for
    model           the name that the vendor was asked for
    model_served    that vendor's word for what it served; None where it said nothing
    service_tier    that vendor's word for how it served it; None where it said nothing
    """

    vendor: str
    model: str
    model_served: str | None
    service_tier: str | None
    usage: Usage

    def as_dict(self) -> dict[str, Any]:
        """Return the call as it is written: nulls and zeros left out."""
        texts = {name: text for name in _TEXTS if (text := getattr(self, name)) is not None}
        return texts | {name: n for name in USAGE_COUNTS if (n := getattr(self.usage, name))}


def encode_calls(calls: Sequence[CallUsage]) -> str | None:
    """Return calls as a JSON array, as the ledger keeps them; None where there are none."""
    return orjson.dumps([call.as_dict() for call in calls]).decode() if calls else None


def decode_calls(raw: str | None) -> tuple[CallUsage, ...]:
    """Read what `encode_calls` wrote."""
    return tuple(map(load_call, orjson.loads(raw))) if raw else ()


def load_call(values: Mapping[str, Any]) -> CallUsage:
    """Return a call as it was written; what this version does not know is left out."""
    counts = {name: values[name] for name in USAGE_COUNTS if name in values}
    return CallUsage(
        values["vendor"],
        values["model"],
        values.get("model_served"),
        values.get("service_tier"),
        Usage(**counts),
    )
