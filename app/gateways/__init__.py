"""Gateways: one module per wire format; GATEWAYS is the table of them."""

from collections.abc import Mapping

from app.gateways.base import Gateway
from app.gateways.openai import OpenAIGateway

GATEWAYS: Mapping[str, Gateway] = {"openai": OpenAIGateway()}
