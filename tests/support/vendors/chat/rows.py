"""Which simulated vendor of chat an entry of the vendor table speaks to."""

from collections.abc import Iterator

from groq.types.chat.completion_create_params import CompletionCreateParams as GroqParams

from tests.support.vendor import Asked, Reply
from tests.support.vendors.chat import openai_rules as rules
from tests.support.vendors.chat.anthropic import AnthropicChat
from tests.support.vendors.chat.azure import AZURE
from tests.support.vendors.chat.bedrock import BedrockChat
from tests.support.vendors.chat.cohere import CohereChat
from tests.support.vendors.chat.gemini import GeminiChat, VertexChat
from tests.support.vendors.chat.launch import LaunchChat
from tests.support.vendors.chat.mistral import MISTRAL
from tests.support.vendors.chat.openai_like import Body, OpenAIChat
from tests.support.vendors.chat.script import Answer
from tests.support.vendors.chat.scripted import Speaking
from tests.support.vendors.chat.tgi import TGI
from tests.support.vendors.deepseek import DEEPSEEK_ERRORS
from tests.support.vendors.groq import GROQ_ERRORS
from tests.support.vendors.llmengine import ERRORS as LLMENGINE_ERRORS
from tests.support.vendors.llmengine import HEADERS as LLMENGINE_HEADERS
from tests.support.vendors.llmengine import LLMEngineWire, sse, without_nulls
from tests.support.vendors.openai import FIREWORKS
from tests.support.vendors.openrouter import OPENROUTER_ERRORS
from tests.support.vendors.self_hosted import LLAMACPP, OLLAMA, SGLANG, VLLM
from tests.support.vendors.together import ERRORS as TOGETHER_ERRORS
from tests.support.vendors.xai import XAI_ERRORS

REASONING = ("reasoning_content",)


class GroqChat(OpenAIChat):
    """Groq: its usage is told in the last piece, too."""

    def counted(self, body: Body, chunks: list[Body], usage: Body) -> list[Body]:
        """Return the chunks with the usage in the last one, and in a trailer where asked for."""
        timed = {**usage, "queue_time": 0.01, "prompt_time": 0.02}
        last = {**chunks[-1], "x_groq": {"id": "req_1", "usage": timed}}
        return super().counted(body, [*chunks[:-1], last], timed)


class LLMEngineChat(OpenAIChat):
    """LLM Engine: what is null is left out, and the end of a stream is its end alone."""

    def framed(self, chunks: list[Body]) -> Reply:
        """Return the chunks as sse-starlette frames them."""
        return sse(*(without_nulls(chunk) for chunk in chunks))


class VLLMChat(OpenAIChat):
    """vLLM: a named choice ends with `stop`."""

    def finish(self, body: Body, said: Answer) -> str:
        """Return why it ended."""
        named = isinstance(body.get("tool_choice"), dict) and said.ending == "tool_calls"
        return "stop" if named else super().finish(body, said)


class DeepSeekChat(OpenAIChat):
    """DeepSeek: blank lines before a whole answer."""

    def says(self, asked: Asked, said: Answer) -> Reply:
        """Answer as the script says."""
        reply = super().says(asked, said)
        if not asked.body.get("stream") and not said.breaks:
            reply.body.insert(0, b"\n\n")
        return reply


def _no_schema(body: Body) -> Iterator[str]:
    """LLM Engine drops a schema without a word."""
    schema = (body.get("response_format") or {}).get("type") == "json_schema"
    if schema and "guided_json" not in body:
        yield "response_format: it would be ignored, and the caller not know"


_VLLM = VLLMChat(
    model="org/name", headers={}, types=None, errors=VLLM.errors, reasons=("reasoning",)
)

CHAT_WIRES: dict[str, Speaking] = {
    "anthropic": AnthropicChat(),
    "azure": AZURE,
    "bedrock": BedrockChat(),
    "cohere": CohereChat(),
    "deepseek": DeepSeekChat(
        path="/beta/chat/completions",
        model="deepseek-reasoner",
        errors=DEEPSEEK_ERRORS,
        refused=frozenset({"n", "seed", "user", "logit_bias", "parallel_tool_calls"}),
        added=frozenset({"thinking", "reasoning_content"}),
        rules=[rules.deepseek],
        reasons=REASONING,
    ),
    "fireworks_ai": OpenAIChat(
        path="/inference/v1/chat/completions",
        model="accounts/fireworks/models/kimi-k2-thinking",
        errors=FIREWORKS.errors,
        added=frozenset({"context_length_exceeded_behavior", "reasoning_content"}),
        reasons=REASONING,
        numbered="none",
        usage="last",
    ),
    "gemini": GeminiChat(),
    "groq": GroqChat(
        path="/openai/v1/chat/completions",
        model="llama-3.3-70b-versatile",
        types=GroqParams,
        refused=frozenset(
            {
                "frequency_penalty",
                "logit_bias",
                "logprobs",
                "presence_penalty",
                "top_logprobs",
                "metadata",
                "store",
            }
        ),
        added=frozenset({"stream_options"}),
        errors=GROQ_ERRORS,
        rules=[rules.groq],
        reasons=("reasoning",),
    ),
    "launch": LaunchChat(),
    "llamacpp": OpenAIChat(
        model="gguf",
        headers={},
        types=None,
        errors=LLAMACPP.errors,
        reasons=REASONING,
        usage="last",
    ),
    "llmengine": LLMEngineChat(
        model="llama-3-1-8b",
        headers=LLMENGINE_HEADERS,
        types=None,
        errors=LLMENGINE_ERRORS,
        rules=[_no_schema],
        reasons=REASONING,
        overlay=LLMEngineWire.overlay,
    ),
    "mistral": MISTRAL,
    "model_zoo": _VLLM,
    "ollama": OpenAIChat(
        model="llama3.2",
        headers={},
        types=None,
        errors=OLLAMA.errors,
        rules=[rules.ollama],
        reasons=("reasoning",),
        calls="whole",
        numbered="zero",
        repeats=True,
        finishes={"tool_calls": "stop"},
    ),
    "openai": OpenAIChat(rules=[rules.openai], refuses_in="refusal"),
    "openrouter": OpenAIChat(
        path="/api/v1/chat/completions",
        model="anthropic/claude-haiku-4.5",
        errors=OPENROUTER_ERRORS,
        added=frozenset({"reasoning", "reasoning_details", "cache_control", "annotations"}),
        rules=[rules.openrouter],
        reasons=("reasoning",),
        details=True,
        usage="trailer",
    ),
    "sglang": OpenAIChat(
        model="org/name",
        headers={},
        types=None,
        errors=SGLANG.errors,
        rules=[rules.strict_server],
        reasons=REASONING,
    ),
    "tgi": TGI,
    "together": OpenAIChat(
        path="/v1/chat/completions",
        model="deepseek-ai/DeepSeek-R1",
        errors=TOGETHER_ERRORS,
        refused=frozenset({"stream_options", "max_completion_tokens", "parallel_tool_calls"}),
        other=frozenset({"logprobs"}),
        rules=[rules.together],
        added=frozenset({"reasoning_content", "reasoning"}),
        reasons=("reasoning", "reasoning_content"),
        repeats=True,
        finishes={"stop": "eos"},
        usage="last",
    ),
    "vertex_ai": VertexChat(),
    "vllm": _VLLM,
    "xai": OpenAIChat(
        model="grok-4.3",
        errors=XAI_ERRORS,
        refused=frozenset({"logit_bias", "stop", "presence_penalty", "frequency_penalty"}),
        added=frozenset({"reasoning_content"}),
        reasons=REASONING,
        calls="whole",
        finishes={"tool_calls": ""},
        adds_reasoning=True,
    ),
}

#: What they need in their entries.
OVERLAYS = {name: getattr(wire, "overlay", "") for name, wire in CHAT_WIRES.items()}
