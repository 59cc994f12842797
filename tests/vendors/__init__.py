"""Simulated vendors: one module per wire; WIRES says which row of the table speaks which."""

from tests.vendors.anthropic import AnthropicWire
from tests.vendors.base import Wire
from tests.vendors.bedrock import BedrockWire
from tests.vendors.cohere import CohereWire
from tests.vendors.gemini import GeminiWire, VertexWire
from tests.vendors.openai import OpenAIWire

WIRES: dict[str, Wire] = {
    "anthropic": AnthropicWire(),
    "bedrock": BedrockWire(),
    "bedrock:cohere": BedrockWire("cohere.command-text-v14"),
    "bedrock:llama": BedrockWire("us.meta.llama3-3-70b-instruct-v1:0"),
    "bedrock:mistral": BedrockWire("mistral.mixtral-8x7b-instruct-v0:1"),
    "bedrock:titan": BedrockWire("amazon.titan-text-express-v1"),
    "cohere": CohereWire(),
    "gemini": GeminiWire(),
    "vertex_ai": VertexWire(),
}
