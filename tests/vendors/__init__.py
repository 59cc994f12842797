"""Simulated vendors: one module per wire; WIRES says which row of the table speaks which."""

from tests.vendors.anthropic import AnthropicWire
from tests.vendors.azure import AzureWire
from tests.vendors.base import Wire
from tests.vendors.bedrock import BedrockWire
from tests.vendors.cohere import CohereWire
from tests.vendors.deepseek import DEEPSEEK, DEEPSEEK_FIM
from tests.vendors.gemini import GeminiWire, VertexWire
from tests.vendors.groq import GROQ
from tests.vendors.mistral import MistralWire
from tests.vendors.openai_chat import OpenAIChatWire
from tests.vendors.openrouter import OPENROUTER
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
    "gemini": GeminiWire(),
    "groq": GROQ,
    "mistral": MistralWire(),
    "mistral:fim": MistralWire(model="codestral-latest"),
    "openai": OpenAIChatWire(),
    "openai:learnt": OpenAIChatWire(model="my-instruct"),
    "openrouter": OPENROUTER,
    "vertex_ai": VertexWire(),
    "xai": XAI,
}
