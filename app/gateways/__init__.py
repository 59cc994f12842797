"""Gateways: one module per wire format; FAMILIES is the table of them."""

from collections.abc import Mapping

from app.gateways.anthropic import AnthropicGateway
from app.gateways.base import Family
from app.gateways.bedrock import ConverseGateway
from app.gateways.bedrock_invoke import InvokeGateway
from app.gateways.cohere import CohereGateway
from app.gateways.gemini import GeminiGateway
from app.gateways.openai import OpenAIGateway

#: What `gateway` may say in the vendor table.
FAMILIES: Mapping[str, Family] = {
    "anthropic": Family(chat=AnthropicGateway()),
    "bedrock": Family(native=InvokeGateway(), chat=ConverseGateway()),
    "cohere": Family(chat=CohereGateway()),
    "gemini": Family(chat=GeminiGateway()),
    "openai": Family(native=OpenAIGateway()),
}
