"""Simulated vendors: one module per wire; WIRES says which row of the table speaks which."""

from tests.vendors.base import Wire
from tests.vendors.gemini import GeminiWire, VertexWire
from tests.vendors.openai import OpenAIWire

WIRES: dict[str, Wire] = {
    "gemini": GeminiWire(),
    "vertex_ai": VertexWire(),
    "vllm": OpenAIWire(),
}
