"""Gateways: one module per wire format; FAMILIES is the table of them."""

from collections.abc import Mapping

from app.gateways.base import Family
from app.gateways.gemini import GeminiGateway
from app.gateways.openai import OpenAIGateway

#: What `gateway` may say in the vendor table.
FAMILIES: Mapping[str, Family] = {
    "gemini": Family(chat=GeminiGateway()),
    "openai": Family(native=OpenAIGateway()),
}
