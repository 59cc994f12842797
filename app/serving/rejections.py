"""What a vendor's rejection shows of a model: the name of its limit, that it makes one sample."""

import re

from app.vendors.model_rules import rules_of
from app.vendors.vendor import Vendor
from app.vocabulary.errors import VendorRejected
from app.vocabulary.request import GenerationRequest

#: The caller's limit of a choice's tokens, and the other name that vendors have for it.
LIMIT = "max_tokens"
OTHER_LIMIT = "max_completion_tokens"

#: The statuses with which vendors reject a parameter.
_STATUSES = (400, 422)

_NAME = re.compile(r"\w+")

#: How vendors name `n` when they reject several samples per call: also as Google's candidates.
_SAMPLES = re.compile(
    r"candidate_?count|(?:one|single|multiple) candidates?"
    r"|[`'\"]n[`'\"]|\bn\b ?(?:must|should|>|=|is|has)",
    re.IGNORECASE,
)


def wanted_limit(vendor: Vendor, asked: GenerationRequest, error: VendorRejected) -> str | None:
    """Return the name that a rejection asks for instead of the one that was sent; None if none."""
    if asked.max_tokens is None or error.vendor_status not in _STATUSES:
        return None
    sent = rules_of(vendor, asked.model_name).renames.get(LIMIT, LIMIT)
    other = OTHER_LIMIT if sent == LIMIT else LIMIT
    names = set(_NAME.findall(f"{error.param} {error.message}"))
    if OTHER_LIMIT not in names:  # servers that know one name only speak of it alone
        return None
    return other if sent in names or sent == LIMIT else None


def rejects_samples(error: VendorRejected) -> bool:
    """Whether the vendor rejects several samples per call."""
    return error.vendor_status in _STATUSES and (
        error.param == "n" or _SAMPLES.search(error.message) is not None
    )
