"""What the vendor table says of Google's models."""

from app.vendors.model_rules import rules_of
from app.vendors.vendor import Vendor

#: Traits of models, in the vendor table:
#: calls have ids, which must come back; older models refuse a request with one.
CALL_IDS = "call_ids"
#: A call of the current turn without its signature is refused.
SIGNED_CALLS = "signed_calls"
#: A tool's result may hold images and files; for others, they stand before it.
MEDIA_RESULTS = "media_results"

TRAITS = frozenset({CALL_IDS, SIGNED_CALLS, MEDIA_RESULTS})


def bare_name(model_name: str) -> str:
    """Return a model's name without Google's own `models/`."""
    return model_name.removeprefix("models/")


def has_trait(vendor: Vendor, model_name: str, trait: str) -> bool:
    """Whether the vendor table gives the model a trait."""
    return trait in rules_of(vendor, bare_name(model_name)).traits
