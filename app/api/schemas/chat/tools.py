"""The tools of a request, and which of them the model may or must call."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Literal

from app.api.schemas.chat.checks import (
    Json,
    identifier,
    mapping,
    missing,
    objects,
    optional_flag,
    optional_text,
    text,
    without_nulls,
    word,
    wrong_type,
    wrong_value,
)
from app.vocabulary.chat.tools import Tool, ToolChoice
from app.vocabulary.errors import UnknownParameter
from app.vocabulary.suggestion import nearest

TOOLS_LIMIT = 128
MODES: tuple[Literal["none", "auto", "required"], ...] = ("none", "auto", "required")
#: Members of a function, and names that other APIs have for its parameters.
_FUNCTION = frozenset({"name", "description", "parameters", "strict"})
NAMES_LIMIT = 64  # how many members are compared
_SCHEMAS = ("input_schema", "inputSchema", "schema", "args")
CHOICES = ("function", "custom", "allowed_tools")


def read_tools(values: Any) -> tuple[Tool, ...]:
    """Return the tools at `tools`."""
    return objects(values, "tools", TOOLS_LIMIT, _tool)


def read_functions(values: Any) -> None:
    """Check `functions`, which came before tools: vendors that know them get them unchanged."""

    def read(source: Json, path: str) -> None:
        _function(source, path)

    objects(values, "functions", TOOLS_LIMIT, read)


def read_tool_choice(value: Any, tools: Sequence[Tool]) -> ToolChoice:
    """Return the choice at `tool_choice`; what it names must be among the tools.

    Raises: InvalidRequest.
    """
    choice = _choice(value)
    if not tools and choice.mode not in ("none", "auto"):
        raise wrong_value("tool_choice", "needs `tools` to choose from")
    names = {tool.name for tool in tools}
    for name in choice.names:
        if name not in names:
            sentence = f"names `{name[:64]}`, which is not among the `tools`"
            raise wrong_value("tool_choice", sentence)
    return choice


def read_function_call(value: Any, functions: Any) -> None:
    """Check `function_call`, which came before `tool_choice`."""
    if isinstance(value, str):
        if value not in ("none", "auto"):
            raise wrong_value("function_call", "must be none, auto or an object with a name")
        return
    if type(value) is not dict:
        raise wrong_type("function_call", "a string or an object")
    name = text(value, "name", "function_call")
    if name not in [function["name"] for function in functions or ()]:
        sentence = f"names `{name[:64]}`, which is not among the `functions`"
        raise wrong_value("function_call", sentence)


def _tool(source: Json, path: str) -> Tool:
    source = without_nulls(source)
    of_type = text(source, "type", path)
    if of_type == "function":
        function = without_nulls(mapping(source, "function", path))
        if function is not source["function"]:
            source = {**source, "function": function}
        fields = _function(function, f"{path}.function")
        return Tool(type=of_type, path=path, source=source, **fields)
    if of_type == "custom":
        custom, at = mapping(source, "custom", path), f"{path}.custom"
        name, description = identifier(custom, "name", at), optional_text(custom, "description", at)
        _check_format(custom, at)
        return Tool(type=of_type, path=path, source=source, name=name, description=description)
    return Tool(type=of_type, path=path, source=source)  # its vendor may know it


def _function(function: Json, path: str) -> Mapping[str, Any]:
    """Return the fields of a function at `path`."""
    parameters = function.get("parameters")
    if parameters is None and not function.keys() <= _FUNCTION:
        _check_misnamed(function, path)
    return {
        "name": identifier(function, "name", path),
        "description": optional_text(function, "description", path),
        "parameters": None if parameters is None else mapping(function, "parameters", path),
        "strict": optional_flag(function, "strict", path),
    }


def _check_misnamed(function: Json, path: str) -> None:
    """Reject a function whose parameters have another name: it would be called without any."""
    given = [name for name in islice(function, NAMES_LIMIT) if name not in _FUNCTION]
    schemas = (name for name in _SCHEMAS if name in given)
    if found := nearest("parameters", given) or next(schemas, None):
        at = f"{path}.{found[:64]}"
        raise UnknownParameter(
            f"`{at}` is not a parameter of a function. Did you mean `parameters`?", param=at
        )


def _check_format(custom: Json, path: str) -> None:
    """Check the format of a custom tool's input."""
    if custom.get("format") is None:
        return
    form, at = mapping(custom, "format", path), f"{path}.format"
    if word(form, "type", at, ("text", "grammar")) == "grammar":
        grammar, at = mapping(form, "grammar", at), f"{at}.grammar"
        text(grammar, "definition", at)
        word(grammar, "syntax", at, ("lark", "regex"))


def _choice(value: Any) -> ToolChoice:
    path = "tool_choice"
    if isinstance(value, str):
        for mode in MODES:
            if value == mode:
                return ToolChoice(mode)
        raise wrong_value(path, f"must be {', '.join(MODES)} or an object that names a tool")
    if type(value) is not dict:
        raise wrong_type(path, "a string or an object")
    of_type = word(value, "type", path, CHOICES)
    if of_type == "allowed_tools":
        return _allowed(mapping(value, of_type, path), f"{path}.{of_type}")
    named = mapping(value, of_type, path)
    return ToolChoice("named", (text(named, "name", f"{path}.{of_type}"),))


def _allowed(allowed: Json, path: str) -> ToolChoice:
    mode = word(allowed, "mode", path, ("auto", "required"))
    if allowed.get("tools") is None:
        raise missing(f"{path}.tools")

    def read(tool: Json, at: str) -> str:
        of_type = word(tool, "type", at, ("function", "custom"))
        return text(mapping(tool, of_type, at), "name", f"{at}.{of_type}")

    names = objects(allowed["tools"], f"{path}.tools", TOOLS_LIMIT, read)
    if not names:
        raise wrong_value(f"{path}.tools", "must not be an empty array")
    return ToolChoice("allowed", names, mode == "required")
