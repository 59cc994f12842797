"""What the vendor table says of Google's models."""

from app.vendors.model_rules import rules_of
from app.vendors.vendor import Vendor

# Traits of models, as the vendor table names them.
#: Calls have ids, which come back with their results; others refuse a request with one.
CALL_IDS = "call_ids"
#: A call of the current turn is refused without its signature.
SIGNED_CALLS = "signed_calls"
#: A tool's result may hold images and files; for others, they stand before it.
MEDIA_RESULTS = "media_results"
#: Each image may have its own resolution; others have one for all.
MEDIA_RESOLUTION = "media_resolution"
#: A format of the answer may stand beside tools.
FORMAT_WITH_TOOLS = "format_with_tools"
#: Google bills each query of a search; otherwise, each answer that it found sources for.
SEARCH_BY_QUERY = "search_by_query"

#: It answers with speech.
SPEECH = "speech"
#: It answers with images.
IMAGES = "images"


def bare_name(model_name: str) -> str:
    """Return a model's name without Google's own `models/`."""
    return model_name.removeprefix("models/")


def traits_of(vendor: Vendor, model_name: str) -> frozenset[str]:
    """Return the model's traits by the vendor table."""
    return rules_of(vendor, bare_name(model_name)).traits
