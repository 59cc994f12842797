"""What messages, tools and objects look like, as JSON Schema for the API's description."""

from typing import Any

from app.api.schemas.chat.checks import ELEMENTS_LIMIT, NAME
from app.api.schemas.chat.options import PLACE, SIZES, SOUNDS
from app.api.schemas.chat.parts import DETAILS
from app.api.schemas.chat.tools import MODES, TOOLS_LIMIT
from app.api.schemas.fields import JSONSchema

_TEXT: JSONSchema = {"type": "string"}
_MAYBE: JSONSchema = {"type": ["string", "null"]}
_NAME: JSONSchema = {"type": "string", "pattern": NAME}
_ANY: JSONSchema = {"type": "object"}


def _words(*words: str, maybe: bool = False) -> JSONSchema:
    kind = ["string", "null"] if maybe else "string"
    return {"type": kind, "enum": [*words, None] if maybe else list(words)}


def _object(*required: str, maybe: bool = False, **properties: JSONSchema) -> JSONSchema:
    kind = ["object", "null"] if maybe else "object"
    described: JSONSchema = {"type": kind, "properties": properties}
    return described | ({"required": list(required)} if required else {})


def _list(items: JSONSchema, most: int, least: int = 0, *, maybe: bool = False) -> JSONSchema:
    kind = ["array", "null"] if maybe else "array"
    return {"type": kind, "items": items, "minItems": least, "maxItems": most}


def _part(of_type: str, value: JSONSchema) -> JSONSchema:
    part = _object("type", of_type, type=_words(of_type))
    part["properties"][of_type] = value
    return part


def _parts(*types: str) -> JSONSchema:
    """Return the schema of a content: a text, or parts of these types."""
    url = {"type": "string", "minLength": 1}
    file: JSONSchema = _object(file_data=_MAYBE, file_id=_MAYBE, filename=_MAYBE)
    file["anyOf"] = [
        {"required": [it], "properties": {it: _TEXT}} for it in ("file_data", "file_id")
    ]
    known: dict[str, Any] = {
        "text": _TEXT,
        "image_url": _object("url", url=url, detail=_words(*DETAILS, maybe=True)),
        "input_audio": _object("data", "format", data=_TEXT, format=_TEXT),
        "file": file,
        "refusal": _TEXT,
    }
    some = [_part(it, known[it]) for it in types]
    return {"oneOf": [_TEXT, _list({"oneOf": some}, ELEMENTS_LIMIT, 1)]}


def _call() -> JSONSchema:
    function = _object("name", "arguments", name=_TEXT, arguments=_TEXT)
    custom = _object("name", "input", name=_TEXT, input=_TEXT)
    return {
        "oneOf": [
            _object("id", "type", "function", id=_TEXT, type=_words("function"), function=function),
            _object("id", "type", "custom", id=_TEXT, type=_words("custom"), custom=custom),
        ]
    }


def messages() -> JSONSchema:
    """Return the schema of the messages; parts of other types may be known to a vendor."""
    told, media = _parts("text"), _parts("text", "image_url", "input_audio", "file")
    assistant = _object(
        "role",
        role=_words("assistant"),
        content={"oneOf": [*_parts("text", "refusal")["oneOf"], {"type": "null"}]},
        name=_MAYBE,
        refusal=_MAYBE,
        reasoning_content=_MAYBE,
        tool_calls=_list(_call(), ELEMENTS_LIMIT, maybe=True),
    )
    said = {"properties": {"content": _parts("text", "refusal")}, "required": ["content"]}
    called = {"properties": {"tool_calls": {"minItems": 1}}, "required": ["tool_calls"]}
    assistant["anyOf"] = [said, called]
    result = _object(
        "role", "content", "tool_call_id", role=_words("tool"), content=told, tool_call_id=_TEXT
    )
    roles = [
        _object("role", "content", role=_words("system", "developer"), content=told, name=_MAYBE),
        _object("role", "content", role=_words("user"), content=media, name=_MAYBE),
        assistant,
        result,
        _object("role", "name", role=_words("function"), content=_MAYBE, name=_TEXT),
    ]
    return _list({"oneOf": roles}, ELEMENTS_LIMIT, 1)


def _function() -> JSONSchema:
    return _object(
        "name",
        name=_NAME,
        description=_MAYBE,
        parameters={"type": ["object", "null"]},
        strict={"type": ["boolean", "null"]},
    )


def tools() -> JSONSchema:
    """Return the schema of the tools."""
    custom = _object("name", name=_NAME, description=_MAYBE)
    one = [
        _object("type", "function", type=_words("function"), function=_function()),
        _object("type", "custom", type=_words("custom"), custom=custom),
    ]
    return _list({"oneOf": one}, TOOLS_LIMIT, maybe=True)


def tool_choice() -> JSONSchema:
    """Return the schema of the choice among the tools."""
    named = _object("name", name=_TEXT)
    some = _object(
        "mode", "tools", mode=_words("auto", "required"), tools=_list(_ANY, TOOLS_LIMIT, 1)
    )
    return {
        "oneOf": [
            _words(*MODES),
            _object("type", "function", type=_words("function"), function=named),
            _object("type", "custom", type=_words("custom"), custom=named),
            _object("type", "allowed_tools", type=_words("allowed_tools"), allowed_tools=some),
            {"type": "null"},
        ]
    }


def functions() -> JSONSchema:
    """Return the schema of the functions, which came before the tools."""
    return _list(_function(), TOOLS_LIMIT, maybe=True)


def function_call() -> JSONSchema:
    """Return the schema of the choice among the functions."""
    return {"oneOf": [_words("none", "auto"), _object("name", name=_TEXT), {"type": "null"}]}


def response_format() -> JSONSchema:
    """Return the schema of the reply's format."""
    form = _object(
        "name",
        name=_NAME,
        description=_MAYBE,
        schema={"type": ["object", "null"]},
        strict={"type": ["boolean", "null"]},
    )
    return {
        "oneOf": [
            _object("type", type=_words("text")),
            _object("type", type=_words("json_object")),
            _object("type", "json_schema", type=_words("json_schema"), json_schema=form),
            {"type": "null"},
        ]
    }


def options() -> dict[str, JSONSchema]:
    """Return the schemas of the options that are objects, by name."""
    place = _object(maybe=True, **dict.fromkeys(PLACE, _MAYBE))
    mode = _object("mode", maybe=True, mode=_words("score", "block"))
    parts = _list(_object("type", "text", type=_words("text"), text=_TEXT), ELEMENTS_LIMIT, 1)
    location: Any = {"user_location": _object("type", "approximate", maybe=True)}
    location["user_location"]["properties"] = {"type": _words("approximate"), "approximate": place}
    voice = {"oneOf": [_TEXT, _object("id", id=_TEXT)]}
    return {
        "audio": _object("format", "voice", maybe=True, format=_words(*SOUNDS), voice=voice),
        "moderation": _object(
            "model", maybe=True, model=_TEXT, policy=_object(maybe=True, input=mode, output=mode)
        ),
        "prediction": _object(
            "type",
            "content",
            maybe=True,
            type=_words("content"),
            content={"oneOf": [_TEXT, parts]},
        ),
        "prompt_cache_options": _object(
            maybe=True, mode=_words("implicit", "explicit", maybe=True), ttl=_MAYBE
        ),
        "web_search_options": _object(
            maybe=True, search_context_size=_words(*SIZES, maybe=True), **location
        ),
    }
