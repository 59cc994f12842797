"""Simulated vendors: one module per wire; WIRES says which row of the table speaks which."""

from tests.vendors.anthropic import AnthropicWire
from tests.vendors.azure import AzureWire
from tests.vendors.base import Wire
from tests.vendors.bedrock import BedrockWire
from tests.vendors.cohere import CohereWire
from tests.vendors.deepseek import DEEPSEEK, DEEPSEEK_FIM
from tests.vendors.gemini import GeminiWire, VertexWire
from tests.vendors.groq import GROQ
from tests.vendors.llmengine import LaunchWire, LLMEngineV1Wire, LLMEngineWire
from tests.vendors.mistral import MistralWire
from tests.vendors.openai import FIREWORKS
from tests.vendors.openai_chat import OpenAIChatWire
from tests.vendors.openrouter import OPENROUTER
from tests.vendors.self_hosted import LLAMACPP, OLLAMA, SGLANG, TGI, VLLM
from tests.vendors.together import TOGETHER
from tests.vendors.xai import XAI

WIRES: dict[str, Wire] = {
    "anthropic": AnthropicWire(),
    "azure": AzureWire(),
    "azure:native": AzureWire(model="gpt-35-turbo-instruct"),
    "azure:learnt": AzureWire(model="my-instruct"),
    "bedrock": BedrockWire(),
    "bedrock:cohere": BedrockWire("cohere.command-text-v14"),
    "bedrock:llama": BedrockWire("us.meta.llama3-3-70b-instruct-v1:0"),
    "bedrock:mistral": BedrockWire("mistral.mixtral-8x7b-instruct-v0:1"),
    "bedrock:titan": BedrockWire("amazon.titan-text-express-v1"),
    "cohere": CohereWire(),
    "deepseek": DEEPSEEK,
    "deepseek:fim": DEEPSEEK_FIM,
    "fireworks_ai": FIREWORKS,
    "gemini": GeminiWire(),
    "groq": GROQ,
    "launch": LaunchWire(),
    "launch:json": LaunchWire(as_text=False),
    "llamacpp": LLAMACPP,
    "llmengine": LLMEngineWire("/v1/completions"),
    "llmengine_v1": LLMEngineV1Wire(),
    "mistral": MistralWire(),
    "mistral:fim": MistralWire(model="codestral-latest"),
    "model_zoo": VLLM,
    "ollama": OLLAMA,
    "openai": OpenAIChatWire(),
    "openai:learnt": OpenAIChatWire(model="my-instruct"),
    "openrouter": OPENROUTER,
    "sglang": SGLANG,
    "tgi": TGI,
    "together": TOGETHER,
    "vertex_ai": VertexWire(),
    "vllm": VLLM,
    "xai": XAI,
}
