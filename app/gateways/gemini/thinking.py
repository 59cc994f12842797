"""`reasoning_effort` in Google's words: a level for newer models, a budget of tokens for older.

Which word means what is data: the `efforts` of the vendor's entry, by model. A model without
`efforts` does not reason: `none` is what it does anyway, and any other word is refused. A model
that cannot do without has no `none` in its table. Thoughts come back as text only if the caller
asked for reasoning by its effort.
"""

from typing import Any

from app.gateways.gemini.models import bare_name
from app.vendors.model_rules import rules_of
from app.vendors.vendor import Vendor
from app.vocabulary.errors import UnsupportedParameter

FIELD = "reasoning_effort"


def thinking_config(vendor: Vendor, model_name: str, effort: str) -> dict[str, Any]:
    """Return the `thinkingConfig` for an effort; {} if nothing has to be said.

    Raises: UnsupportedParameter if the model has no such effort.
    """
    efforts = rules_of(vendor, bare_name(model_name)).efforts
    if effort in efforts:
        meaning = efforts[effort]
        field = "thinkingLevel" if isinstance(meaning, str) else "thinkingBudget"
        thoughts = {} if effort == "none" else {"includeThoughts": True}
        return {field: meaning, **thoughts}
    if effort == "none" and not efforts:
        return {}
    takes = f"it takes {', '.join(efforts)}" if efforts else "it does not reason"
    raise UnsupportedParameter(
        f"The model `{vendor.name}/{model_name}` has no `{FIELD}` `{effort}`: {takes}.", param=FIELD
    )
