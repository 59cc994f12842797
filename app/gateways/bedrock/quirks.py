"""The keys of a Bedrock entry's `quirks` for Converse, and the traits of its models."""

from collections.abc import Mapping
from typing import Any

from marshmallow.fields import Field

from app.gateways.bedrock.common import QUIRKS
from app.gateways.conversation.origins import SIGNATURES
from app.vendors.model_rules import MODELS

CHAT_QUIRKS: Mapping[str, Field[Any]] = {
    **QUIRKS,
    # the name of those whose signatures its Claude models accept
    "signatures": SIGNATURES,
    # rules for models by glob: `unsupported` parameters, `efforts` and `traits`
    "models": MODELS,
}

#: The model takes sounds.
AUDIO = "audio"
#: It takes videos.
VIDEO = "video"
#: It can search the web.
WEB_SEARCH = "web_search"
#: It takes cache points.
CACHES = "caches"
#: It can be forced to call a tool.
FORCED_TOOLS = "forced_tools"
#: It cannot, although its family can.
NO_FORCED_TOOLS = "no_forced_tools"
#: It takes instructions in the middle of a conversation.
LATER_SYSTEM = "later_system"
#: It follows a JSON Schema, in replies and in strict tools.
STRUCTURED = "structured"
#: It is Claude: it signs its reasoning, which comes back, and can be told to make one call at most.
CLAUDE = "claude"
#: It is Nova, which has a configuration of its own for reasoning.
NOVA = "nova"

#: The vendor's own tool for `web_search_options`, which it runs itself.
GROUNDING = "nova_grounding"
