"""Service tiers: the words of vendors for how they served a request, which may set another price.

Pure. OpenAI, Groq, Anthropic and Google each have words of their own.
"""

from collections.abc import Mapping

#: Words that mean a vendor's usual service at its usual price.
STANDARD_WORDS = frozenset({"", "auto", "default", "on_demand", "standard", "standard_only"})

#: Google's words on Vertex AI for what others, and our prices, call by the shorter one.
SAME_TIER: Mapping[str, str] = {"on_demand_flex": "flex", "on_demand_priority": "priority"}


def tier_of(word: str | None) -> str | None:
    """Return the tier that a vendor's word names, as prices are kept by it; None is the standard.

    A word that nobody knows is a tier of its own: what it costs is not known either.
    """
    if word is None:
        return None
    tier = word.strip().lower()
    return None if tier in STANDARD_WORDS else SAME_TIER.get(tier, tier)
