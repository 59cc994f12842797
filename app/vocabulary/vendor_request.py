"""One HTTP request to a vendor, as a gateway makes it and the transport sends it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class VendorRequest:
    """One HTTP request to a vendor. `dropped` names parameters left out, for the caller to know."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    dropped: tuple[str, ...] = ()
