"""The vendor entry of LLM Engine's first API, and its responses."""

import json
from typing import Any

from app.transport.auth.schemes import authenticated
from tests.gateways.rows import Row
from tests.support.vendor import Asked
from tests.support.vendors.llmengine import LLMEngineV1Wire

ROW = Row("llmengine_v1", "SCALE_API_KEY", native=True)


WIRE = LLMEngineV1Wire()


def asked(**fields: Any) -> Asked:
    """Return the vendor's request for a caller's request with these fields."""
    encoded = ROW.gateway.encode(ROW.vendor, ROW.asks(WIRE.model, **fields))
    path = encoded.url.removeprefix("https://api.spellbook.scale.com/llm-engine")
    return Asked(path, authenticated(ROW.vendor, encoded), json.loads(encoded.body), 0)
