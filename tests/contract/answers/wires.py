"""The table of all formats, by name."""

from collections.abc import Mapping

from tests.contract.answers.amazon_wires import Converse, Invoke
from tests.contract.answers.openai_wires import EngineV1, Launch, OpenAI
from tests.contract.answers.parts import Wire
from tests.contract.answers.typed_wires import Anthropic, Cohere, Gemini

#: Every wire, whole and streamed.
WIRES: Mapping[str, Wire] = {
    "text": OpenAI("text/m", chat=False),
    "chat": OpenAI("openai/m", chat=True),
    "azure-text": OpenAI("azure/gpt-35-turbo-instruct", chat=False),
    "azure-chat": OpenAI("azure/gpt-4o", chat=True),
    "llmengine": OpenAI("llmengine/llama", chat=False),
    "launch": Launch(),
    "anthropic": Anthropic(),
    "gemini": Gemini("gemini/gemini-x", terse=False),
    "vertex": Gemini("vertex_ai/gemini-x", terse=True),
    "converse": Converse(),
    "llama": Invoke("llama", "us.meta.llama3-3-70b-instruct-v1:0", "stop"),
    "titan": Invoke("titan", "amazon.titan-text-express-v1", "FINISH"),
    "mistral-raw": Invoke("mistral", "mistral.mixtral-8x7b-instruct-v0:1", "stop"),
    "command": Invoke("command", "cohere.command-text-v14", "COMPLETE"),
    "cohere": Cohere(),
    "fim": OpenAI("mistral/codestral-latest", chat=True, samples=False),
    "mistral": OpenAI("mistral/mistral-small", chat=True),
    "llmengine_v1": EngineV1(),
}

#: Those whose answers say why they end.
WORDY = tuple(name for name, wire in WIRES.items() if name != "llmengine_v1")
#: Those whose streams end with a mark of their own.
MARKED = tuple(name for name, wire in WIRES.items() if wire.mark)
#: Those whose calls give several choices, and those whose calls take several prompts.
SAMPLING = tuple(name for name, wire in WIRES.items() if wire.samples)
LISTING = tuple(name for name, wire in WIRES.items() if wire.lists)
#: Those on which each sample is a call.
SINGLE = tuple(name for name, wire in WIRES.items() if not wire.samples)
