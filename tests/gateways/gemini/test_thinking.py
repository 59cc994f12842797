"""`reasoning_effort` in Google's words."""

import json
from typing import Any

import pytest

from app.vendors.model_rules import EFFORTS
from app.vocabulary.errors import InvalidRequest
from tests.gateways.chat_rows import ChatRow
from tests.gateways.gemini.chat import GEMINI, VERTEX, config

#: Model -> what each effort becomes: a budget, a level, or None for a refusal.
TABLE: dict[str, list[Any]] = {
    "gemini-2.5-flash": [0, 1024, 1024, 8192, 24576, 24576, 24576],
    "gemini-2.5-flash-lite": [0, 1024, 1024, 8192, 24576, 24576, 24576],
    "gemini-2.5-pro": [0, 1024, 1024, 8192, 24576, 32768, 32768],
    "gemini-3-flash-preview": [None, "MINIMAL", "LOW", "MEDIUM", "HIGH", "HIGH", "HIGH"],
    "gemini-3-pro-preview": [None, "LOW", "LOW", "HIGH", "HIGH", "HIGH", "HIGH"],
    "gemini-3.5-pro": [None, "LOW", "LOW", "MEDIUM", "HIGH", "HIGH", "HIGH"],
    "gemini-3.8-flash": [None, "LOW", "LOW", "MEDIUM", "HIGH", "HIGH", "HIGH"],
    "gemini-4-argon": [None, "LOW", "LOW", "MEDIUM", "HIGH", "HIGH", "HIGH"],
    "gemini-flash-latest": [None, "LOW", "LOW", "MEDIUM", "HIGH", "HIGH", "HIGH"],
    "models/gemini-3-flash-preview": [None, "MINIMAL", "LOW", "MEDIUM", "HIGH", "HIGH", "HIGH"],
}


@pytest.mark.parametrize("row", [GEMINI, VERTEX], ids=["gemini", "vertex_ai"])
@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("model", TABLE)
def test_an_effort_has_its_word_on_each_model(model: str, effort: str, row: ChatRow) -> None:
    meaning = TABLE[model][EFFORTS.index(effort)]
    if meaning is None:
        assert row.refused(model, reasoning_effort=effort) == "reasoning_effort"
        return
    field = "thinkingLevel" if isinstance(meaning, str) else "thinkingBudget"
    thoughts = {} if effort == "none" else {"includeThoughts": True}
    told = config(model, row, reasoning_effort=effort)["thinkingConfig"]
    assert told == {field: meaning, **thoughts}


@pytest.mark.parametrize("model", ["gemini-2.0-flash", "gemma-3-27b-it", "tunedModels/mine"])
def test_a_model_that_does_not_reason_takes_none_and_nothing_else(model: str) -> None:
    assert config(model, reasoning_effort="none") == {}
    for effort in EFFORTS[1:]:
        assert GEMINI.refused(model, reasoning_effort=effort) == "reasoning_effort"


def test_vertex_ai_lets_one_model_stop_reasoning() -> None:
    model = "gemini-3.1-pro-preview"
    told = config(model, VERTEX, reasoning_effort="none")["thinkingConfig"]
    assert told == {"thinkingBudget": 0}
    assert GEMINI.refused(model, reasoning_effort="none") == "reasoning_effort"


@pytest.mark.parametrize(
    ("limit", "budget"), [(100_000, 24_576), (4_000, 3_000), (683, 512), (None, 24_576)]
)
def test_a_budget_leaves_room_for_the_answer(limit: int | None, budget: int) -> None:
    given: dict[str, Any] = {} if limit is None else {"max_completion_tokens": limit}
    told = config("gemini-2.5-flash", reasoning_effort="high", **given)
    assert told["thinkingConfig"]["thinkingBudget"] == budget
    assert told.get("maxOutputTokens") == limit


def test_a_limit_without_room_for_a_budget_is_refused_and_never_raised() -> None:
    fields: dict[str, Any] = {"reasoning_effort": "high", "max_completion_tokens": 600}
    with pytest.raises(InvalidRequest, match="max_completion_tokens") as caught:
        GEMINI.encoded("gemini-2.5-flash", **fields)
    assert caught.value.param == "reasoning_effort"
    off = config("gemini-2.5-flash", reasoning_effort="none", max_completion_tokens=5)
    assert off["thinkingConfig"] == {"thinkingBudget": 0}


def test_nothing_is_said_of_reasoning_that_the_caller_did_not_say() -> None:
    assert config("gemini-3-flash-preview") == {}
    assert config("gemini-2.5-flash") == {}


def test_a_refusal_of_the_vendor_keeps_its_words() -> None:
    message = "Budget 0 is invalid. This model only works in thinking mode."
    body = {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}
    assert message in GEMINI.gateway.decode_error(GEMINI.vendor, 400, {}, _json(body)).message


def _json(body: Any) -> bytes:
    return json.dumps(body).encode()
