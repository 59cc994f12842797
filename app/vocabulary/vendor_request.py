"""One HTTP request to a vendor: a gateway makes it and the transport sends it."""

from collections.abc import Mapping
from dataclasses import field

from app.vocabulary.value_type import value_type


@value_type()
class VendorRequest:
    """One HTTP request to a vendor. `dropped` names the caller's parameters that it leaves out."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    dropped: tuple[str, ...] = ()
