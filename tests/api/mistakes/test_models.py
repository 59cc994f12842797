"""Which model was meant by a `model` that is not `vendor/name`."""

from typing import Any

import pytest

from app.api.mistakes.models import explain_model
from app.gateways.families import GATEWAY_SPECS
from app.vendors.table import load_vendors
from app.vocabulary.errors import InvalidRequest, together

WRONG = "`model` must be `vendor/name`."


def explained(model: Any, **env: str) -> str:
    """Return the message of an error about a model."""
    error = InvalidRequest(WRONG, param="model")
    explain_model(error, {"model": model}, load_vendors(None, env, GATEWAY_SPECS))
    return error.message.removeprefix(WRONG).strip()


@pytest.mark.parametrize(
    ("model", "meant"),
    [
        ("gpt-4o", "openai/gpt-4o"),
        ("o3-mini", "openai/o3-mini"),
        ("GPT-4o", "openai/GPT-4o"),
        ("gemini-2.5-pro", "gemini/gemini-2.5-pro"),
        ("grok-4", "xai/grok-4"),
        ("echo", "sandbox/echo"),
        ("echo?words=3", "sandbox/echo?words=3"),
        ("anthropic.claude-opus-4-v1:0", "bedrock/anthropic.claude-opus-4-v1:0"),
        ("openai:gpt-4o", "openai/gpt-4o"),
        ("openai.gpt-4o", "openai/gpt-4o"),
        ("Openai//gpt-4o", "openai/gpt-4o"),
        (" openai/gpt-4o ", "openai/gpt-4o"),
        ("'gpt-4o'", "openai/gpt-4o"),
        ("openai%2Fgpt-4o", "openai/gpt-4o"),
        ("us.anthropic.claude-opus-4-v1:0", "bedrock/us.anthropic.claude-opus-4-v1:0"),
    ],
)
def test_a_known_name_gets_its_vendor(model: str, meant: str) -> None:
    assert explained(model) == f"Did you mean the model `{meant}`?"


@pytest.mark.parametrize("model", ["$MODEL", "{model}", "<model>", "undefined", "null", " None"])
def test_a_variable_that_has_no_value_is_named(model: str) -> None:
    assert "a variable that is not set" in explained(model)


@pytest.mark.parametrize("model", ["", "llama", "/", "zzz/", 5, None, ["gpt-4o"], "gpt-" * 99])
def test_an_unknown_name_gets_nothing(model: Any) -> None:
    assert explained(model) == ""


def test_the_model_may_be_one_fault_of_several_and_another_fault_is_left_alone() -> None:
    vendors = load_vendors(None, {}, GATEWAY_SPECS)
    several = together([InvalidRequest("n.", param="n"), InvalidRequest("model.", param="model")])
    explain_model(several, {"model": "gpt-4o"}, vendors)
    assert "`openai/gpt-4o`" in several.message
    other = InvalidRequest("n.", param="n")
    explain_model(other, {"model": "gpt-4o"}, vendors)
    assert other.message == "n."
