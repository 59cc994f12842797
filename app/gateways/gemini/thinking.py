"""`reasoning_effort` in Google's words: a level for newer models, a budget of tokens for older.

Which word means what is data: the `efforts` of the vendor's entry, by model. A model without
`efforts` does not reason: `none` is what it does anyway, and any other word is refused. A model
that cannot do without has no `none` in its table. Thoughts come back as text only if the caller
asked for reasoning by its effort. A budget is part of the limit on the answer's tokens, and leaves
room for the answer.
"""

from typing import Any

from app.gateways.conversation.efforts import effort_of, fitting_budget
from app.gateways.conversation.omissions import Omissions
from app.gateways.gemini.models import bare_name
from app.vendors.model_rules import rules_of
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest

#: The least budget that every model with budgets takes, in tokens: that of 2.5 Flash-Lite.
LEAST_BUDGET = 512


def thinking_config(vendor: Vendor, request: ChatRequest, omissions: Omissions) -> dict[str, Any]:
    """Return the field for the caller's effort; {} if nothing has to be said.

    Raises: UnsupportedParameter if the model has no such effort.
    """
    efforts = rules_of(vendor, bare_name(request.model_name)).efforts
    meaning = effort_of(vendor, request, efforts, omissions)
    if meaning is None:
        return {}
    field = "thinkingLevel" if isinstance(meaning, str) else "thinkingBudget"
    if isinstance(meaning, int) and meaning and request.max_tokens is not None:
        meaning = fitting_budget(meaning, request.max_tokens, LEAST_BUDGET)
    is_off = request.options.get("reasoning_effort") == "none"
    thoughts = {} if is_off else {"includeThoughts": True}
    return {"thinkingConfig": {field: meaning, **thoughts}}
