"""Simulated vendors: one module per wire; WIRES says which row of the table speaks which."""

from tests.support.vendors.anthropic import AnthropicWire
from tests.support.vendors.azure import AzureWire
from tests.support.vendors.base import Wire
from tests.support.vendors.bedrock import BedrockWire
from tests.support.vendors.cohere import CohereWire
from tests.support.vendors.deepseek import DEEPSEEK, DEEPSEEK_FIM
from tests.support.vendors.gemini import GeminiWire, VertexWire
from tests.support.vendors.groq import GROQ
from tests.support.vendors.llmengine import LaunchWire, LLMEngineV1Wire, LLMEngineWire
from tests.support.vendors.mistral import MistralWire
from tests.support.vendors.openai import FIREWORKS
from tests.support.vendors.openai_chat import OpenAIChatWire
from tests.support.vendors.openrouter import OPENROUTER
from tests.support.vendors.self_hosted import LLAMACPP, OLLAMA, SGLANG, TGI, VLLM
from tests.support.vendors.together import TOGETHER
from tests.support.vendors.xai import XAI

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
