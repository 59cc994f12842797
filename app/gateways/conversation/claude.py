"""How Claude's models think, and how that is switched off, for both of their formats.

Source: platform.claude.com, thinking; what's new in Claude Opus 5.5, Sonnet 5.5 and Haiku 5.5.
"""

from collections.abc import Mapping
from typing import Any

from app.vendors.model_rules import ModelRules

# Traits of models, as the vendor table names them.
#: It thinks unless a request switches that off.
THINKS = "thinks"
#: It cannot be switched off.
ALWAYS_THINKS = "always_thinks"
#: Switched off, it still writes notes between calls of tools, which are signed and come back.
BETWEEN_TOOLS = "between_tools"

#: Efforts at which no model can be switched off.
HIGHEST = ("xhigh", "max")


def efforts_of(rules: ModelRules) -> Mapping[str, str | int]:
    """Return a model's efforts; without `none`, if it cannot be switched off."""
    if ALWAYS_THINKS not in rules.traits:
        return rules.efforts
    return {word: meaning for word, meaning in rules.efforts.items() if word != "none"}


def thinks_unasked(rules: ModelRules) -> bool:
    """Whether a model thinks if a request does not say anything about it."""
    efforts = efforts_of(rules)
    return THINKS in rules.traits or (bool(efforts) and "none" not in efforts)


def keeps_notes(rules: ModelRules) -> bool:
    """Whether a model takes signed reasoning back even if it is switched off."""
    return BETWEEN_TOOLS in rules.traits


def switched_off(rules: ModelRules) -> dict[str, Any]:
    """Return the field that switches thinking off."""
    return {"thinking": {"type": "between_tools" if keeps_notes(rules) else "disabled"}}


def effort_without_thinking(word: str | None) -> str | None:
    """Return the effort for a request whose thinking is switched off."""
    return "high" if word in HIGHEST else word
