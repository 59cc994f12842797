"""The format of each vendor entry."""

from collections.abc import Mapping

from tests.contract.wild.wires import Speaker
from tests.contract.wild.wires.bedrock import ConverseSpeaker, InvokeSpeaker
from tests.contract.wild.wires.google import GoogleSpeaker
from tests.contract.wild.wires.openai import ChatSpeaker, TextSpeaker
from tests.contract.wild.wires.scale import LaunchSpeaker, LLMEngineSpeaker, V1Speaker
from tests.contract.wild.wires.typed import AnthropicSpeaker, CohereSpeaker
from tests.support.vendors import WIRES
from tests.support.vendors.openai import OpenAIWire
from tests.support.vendors.openai_chat import ChatWire

#: Rows that a request reaches only after a refusal, which is tested elsewhere.
LEARNT = frozenset({"azure:learnt", "openai:learnt"})


def _speaker(row: str) -> Speaker:
    wire = WIRES[row]
    if row in ("azure:native", "deepseek:fim"):
        return TextSpeaker(OpenAIWire())
    if row == "llmengine" and isinstance(wire, OpenAIWire):
        return LLMEngineSpeaker(wire, done=False, line_end="\r\n")
    if isinstance(wire, OpenAIWire):
        return TextSpeaker(wire)
    if isinstance(wire, ChatWire):
        return ChatSpeaker(wire)
    if row.startswith("bedrock:"):
        return InvokeSpeaker(wire.model)  # type: ignore[attr-defined]
    return OTHERS[row]


OTHERS: Mapping[str, Speaker] = {
    "anthropic": AnthropicSpeaker(),
    "bedrock": ConverseSpeaker(),
    "cohere": CohereSpeaker(),
    "gemini": GoogleSpeaker(),
    "launch": LaunchSpeaker(as_text=True),
    "launch:json": LaunchSpeaker(as_text=False),
    "llmengine_v1": V1Speaker(),
    "vertex_ai": GoogleSpeaker(),
}

SPEAKERS: Mapping[str, Speaker] = {row: _speaker(row) for row in sorted(WIRES) if row not in LEARNT}
