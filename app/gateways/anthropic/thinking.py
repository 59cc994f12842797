"""`reasoning_effort` as Anthropic's `thinking` and `output_config.effort`.

The model's `efforts` in the vendor table decide: a word is an effort of a model that thinks as much
as it sees fit; a number is a budget in tokens; 0 switches thinking off. If the entry has none for
`none`, the model cannot be switched off, and it thinks without being asked, too.

If a client goes on with a loop of tool calls without the reasoning that came with the calls, which
the vendor rejects while the model thinks, the request is sent without thinking, and
`reasoning_effort` is named among what was left out.
"""

from dataclasses import dataclass, field
from typing import Any

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
from app.vendors.model_rules import rules_of
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest


@dataclass(frozen=True, slots=True)
class Thinking:
    """How a request lets the model think.

    fields    fields of the body
    effort    the word for `output_config`, if the model takes one
    is_on     whether the model thinks, so that signed reasoning can be sent back
    is_manual whether it has a budget, which forbids other parameters
    """

    fields: dict[str, Any] = field(default_factory=dict)
    effort: str | None = None
    is_on: bool = False
    is_manual: bool = False


def thinking_of(
    vendor: Vendor, request: ChatRequest, limit: int, talk: Conversation, omissions: Omissions
) -> Thinking:
    """Return how a request with at most `limit` tokens lets the model think.

    Raises: UnsupportedParameter for an effort that the model does not have; InvalidRequest for a
    limit below the least budget.
    """
    rules = rules_of(vendor, request.model_name)
    efforts, keeps = efforts_of(rules), keeps_notes(rules)
    effort = effort_of(vendor, request, efforts, omissions)
    if effort is None:
        return Thinking(is_on=thinks_unasked(rules))
    if effort == 0:
        return Thinking(switched_off(rules), is_on=keeps)
    word = effort if isinstance(effort, str) else None
    if "none" in efforts and lacks_thinking(talk):
        omissions.leave_out_hint("reasoning_effort")
        return Thinking(switched_off(rules), effort_without_thinking(word), is_on=keeps)
    if isinstance(effort, int):
        budget = fitting_budget(effort, limit)
        return Thinking(
            {"thinking": {"type": "enabled", "budget_tokens": budget}}, is_on=True, is_manual=True
        )
    # Without `display`, the reasoning comes without its text.
    shown = {"type": "adaptive", "display": "summarized"}
    return Thinking({"thinking": shown}, word, is_on=True)
