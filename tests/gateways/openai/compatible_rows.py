"""Entries of OpenAI-compatible vendors, and their responses."""

import pytest

from tests.gateways.rows import Row
from tests.support.vendors.llmengine import LLMEngineWire
from tests.support.vendors.openai import FIREWORKS, OpenAIWire
from tests.support.vendors.self_hosted import LLAMACPP, OLLAMA, SGLANG, TGI, VLLM
from tests.support.vendors.together import TOGETHER

FIREWORKS_ROW = Row("fireworks_ai", "FIREWORKS_API_KEY", native=True)


TOGETHER_ROW = Row("together", "TOGETHER_API_KEY", native=True)


LLMENGINE_ROW = Row("llmengine", "SCALE_API_KEY", native=True)


MODEL_ZOO_ROW = Row("model_zoo", native=True)


VLLM_ROW = Row("vllm", native=True)


SGLANG_ROW = Row("sglang", native=True)


LLAMACPP_ROW = Row("llamacpp", native=True)


OLLAMA_ROW = Row("ollama", native=True)


TGI_ROW = Row("tgi", native=True)


WIRES: list[tuple[Row, OpenAIWire]] = [
    (FIREWORKS_ROW, FIREWORKS),
    (TOGETHER_ROW, TOGETHER),
    (LLMENGINE_ROW, LLMEngineWire()),
    (MODEL_ZOO_ROW, VLLM),
    (VLLM_ROW, VLLM),
    (SGLANG_ROW, SGLANG),
    (LLAMACPP_ROW, LLAMACPP),
    (OLLAMA_ROW, OLLAMA),
    (TGI_ROW, TGI),
]


EACH = pytest.mark.parametrize(("row", "wire"), WIRES, ids=[row.vendor.name for row, _ in WIRES])
