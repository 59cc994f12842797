"""`reasoning_effort` in the words of each family of models on Bedrock.

The model's `efforts` in the vendor table decide, as for Anthropic: words, budgets in tokens, or 0.
Claude takes them as `thinking` and `outputConfig.effort`, Nova as `reasoningConfig`, others as
`reasoning_effort`. A loop whose client has dropped Claude's signed reasoning goes on without
thinking, and `reasoning_effort` is named among what was left out.
"""

from dataclasses import dataclass, field
from typing import Any

from app.gateways.bedrock.quirks import CLAUDE, NOVA
from app.gateways.conversation.claude import (
    effort_without_thinking,
    efforts_of,
    keeps_notes,
    switched_off,
    thinks_unasked,
)
from app.gateways.conversation.efforts import effort_of, fitting_budget
from app.gateways.conversation.omissions import Omissions
from app.gateways.conversation.reasoning import lacks_thinking
from app.gateways.conversation.turns import Conversation
from app.vendors.model_rules import ModelRules, rules_of
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest

OFF = {"type": "disabled"}

#: Where Claude's own response counts its reasoning, which Converse's usage does not.
COUNTS_PATH = "/usage/output_tokens_details"


@dataclass(frozen=True, slots=True)
class Reasoning:
    """How a request lets the model reason.

    fields    the model's own fields, beside Converse's
    effort    the word for `outputConfig`, if the model takes one there
    is_on     whether signed reasoning can be sent back
    is_manual whether the model has a budget, which forbids other parameters
    """

    fields: dict[str, Any] = field(default_factory=dict)
    effort: str | None = None
    is_on: bool = False
    is_manual: bool = False

    @property
    def counted_at(self) -> list[str]:
        """The paths in the model's own response that count its reasoning."""
        return [COUNTS_PATH] if self.is_on and self.fields else []


def reasoning_of(
    vendor: Vendor, request: ChatRequest, talk: Conversation, omissions: Omissions
) -> Reasoning:
    """Return how a request lets the model reason.

    Raises: UnsupportedParameter for an effort that the model does not have; InvalidRequest for a
    limit below the least budget.
    """
    rules = rules_of(vendor, request.model_name)
    effort = effort_of(vendor, request, efforts_of(rules), omissions)
    if CLAUDE in rules.traits:
        return _of_claude(request, effort, talk, omissions, rules)
    if effort is None:
        return Reasoning()
    if NOVA in rules.traits:
        config = {"type": "enabled", "maxReasoningEffort": effort} if effort else OFF
        return Reasoning({"reasoningConfig": config})
    return Reasoning({"reasoning_effort": effort} if effort else {})


def _of_claude(
    request: ChatRequest,
    effort: str | int | None,
    talk: Conversation,
    omissions: Omissions,
    rules: ModelRules,
) -> Reasoning:
    keeps = keeps_notes(rules)
    if effort is None:
        return Reasoning(is_on=thinks_unasked(rules))
    if effort == 0:
        return Reasoning(switched_off(rules), is_on=keeps)
    word = effort if isinstance(effort, str) else None
    if "none" in efforts_of(rules) and lacks_thinking(talk):
        omissions.leave_out_hint("reasoning_effort")
        return Reasoning(switched_off(rules), effort_without_thinking(word), is_on=keeps)
    if isinstance(effort, int):
        limit = request.max_tokens
        budget = effort if limit is None else fitting_budget(effort, limit)
        thinking: dict[str, Any] = {"type": "enabled", "budget_tokens": budget}
        return Reasoning({"thinking": thinking}, is_on=True, is_manual=True)
    thinking = {"type": "adaptive", "display": "summarized"}
    return Reasoning({"thinking": thinking}, word, is_on=True)
