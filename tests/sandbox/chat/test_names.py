"""Misspelt names inside of a chat request to the sandbox."""

from typing import Any

import pytest

from app.sandbox.chat.names import COMPARED_LIMIT, check_names, instead_of
from app.sandbox.errors import SandboxError


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": [{"role": "user", "content": "x", "reasoning_content": "y", "zzz": 1}]},
        {"messages": ["x", {"content": [{"type": "text", "text": "x", "cache_control": {}}]}]},
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"nme": 1}}}]},
        {"tool_choice": "auto", "response_format": {"type": "text"}},
        {"messages": [{"role": "user", "content": "x", "roles": "y"}]},
    ],
)
def test_names_of_other_vendors_are_ignored(body: dict[str, Any]) -> None:
    """So is one like a name that is there already: it replaces nothing."""
    check_names(body)


@pytest.mark.parametrize(
    ("body", "path", "meant"),
    [
        ({"messages": [{"role": "user", "contnt": "x"}]}, "messages[0].contnt", "content"),
        (
            {"messages": [{"content": [{"type": "text", "txt": "x"}]}]},
            "messages[0].content[0].txt",
            "text",
        ),
        (
            {"messages": [{"tool_calls": [{"function": {"argments": "{}"}}]}]},
            "messages[0].tool_calls[0].function.argments",
            "arguments",
        ),
        ({"tools": [{"type": "function", "functon": {}}]}, "tools[0].functon", "function"),
        ({"tool_choice": {"typ": "function"}}, "tool_choice.typ", "type"),
    ],
)
def test_a_misspelt_name_is_told_with_its_path(body: dict[str, Any], path: str, meant: str) -> None:
    with pytest.raises(SandboxError) as failed:
        check_names(body)
    assert failed.value.param == path
    assert failed.value.code == "unknown_parameter"
    assert failed.value.message.endswith(f"Did you mean `{meant}`?")


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("input_text", ": did you mean text"),
        ("txt", ": did you mean text"),
        ("tool_use", ": did you mean the message's tool_calls"),
        ("zzz", ""),
        (5, ""),
    ],
)
def test_a_wrong_word(word: object, says: str) -> None:
    assert instead_of(word, ("text", "image_url")) == says


def test_a_request_of_very_many_unknown_names_is_not_compared_to_its_end() -> None:
    """All of them would take the sandbox half a minute."""
    unknown = {f"zq{at}xk": 1 for at in range(50)}
    misspelt = {"role": "user", "contnt": "x"}
    with pytest.raises(SandboxError):
        check_names({"messages": [unknown, misspelt]})
    check_names({"messages": [*[unknown] * (COMPARED_LIMIT // 50), misspelt]})
