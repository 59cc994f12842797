"""Service tiers: vendors' names for how a request was served, which may change its price. No I/O.

OpenAI, Groq, Anthropic and Google each have their own names.
"""

from collections.abc import Mapping

#: Names of a vendor's standard service at its standard price.
STANDARD_NAMES = frozenset({"", "auto", "default", "on_demand", "standard", "standard_only"})

#: Vertex AI's names -> the names of other vendors, which prices use.
SAME_TIER: Mapping[str, str] = {"on_demand_flex": "flex", "on_demand_priority": "priority"}


def tier_of(name: str | None) -> str | None:
    """Return the tier under which prices are stored for a vendor's name; None is the standard.

    An unknown name is a tier of its own, because its price is unknown as well.
    """
    if name is None:
        return None
    tier = name.strip().lower()
    return None if tier in STANDARD_NAMES else SAME_TIER.get(tier, tier)
