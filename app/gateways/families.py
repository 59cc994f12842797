"""The table of all gateways, by the `gateway` name of a vendor entry."""

from collections.abc import Mapping

from app.gateways.anthropic.gateway import AnthropicGateway
from app.gateways.bedrock.converse import ConverseGateway
from app.gateways.bedrock.invoke import InvokeGateway
from app.gateways.cohere.gateway import CohereGateway
from app.gateways.family import Family
from app.gateways.gemini.request import GeminiGateway
from app.gateways.openai.azure import AzureChatGateway, AzureGateway
from app.gateways.openai.chat import OpenAIChatGateway
from app.gateways.openai.completions import OpenAIGateway
from app.gateways.openai.fim import FIMGateway
from app.gateways.scale.launch import LaunchChatGateway, LaunchGateway
from app.gateways.scale.llmengine import LLMEngineV1Gateway
from app.vendors.entry import GatewaySpec

#: `gateway` of a vendor entry -> its gateways.
GATEWAYS: Mapping[str, Family] = {
    "anthropic": Family(chat=AnthropicGateway()),
    "azure": Family(AzureGateway(), AzureChatGateway(), reports_names=False),
    "bedrock": Family(native=InvokeGateway(), chat=ConverseGateway()),
    "cohere": Family(chat=CohereGateway()),
    "gemini": Family(chat=GeminiGateway()),
    "launch": Family(LaunchGateway(), LaunchChatGateway(), reports_names=False),
    "llmengine_v1": Family(native=LLMEngineV1Gateway()),
    "mistral": Family(native=FIMGateway(), chat=OpenAIChatGateway()),
    "openai": Family(native=OpenAIGateway(), chat=OpenAIChatGateway()),
}

#: `gateway` of a vendor entry -> the traits that the vendor table needs.
GATEWAY_SPECS: Mapping[str, GatewaySpec] = {
    name: family.spec() for name, family in GATEWAYS.items()
}
