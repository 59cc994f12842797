"""What messages, tools and objects look like, as JSON Schema for the API's description."""

from typing import Any

from app.api.schemas.chat.checks import ELEMENTS_LIMIT, NAME
from app.api.schemas.chat.options import PLACE, SIZES, SOUNDS
from app.api.schemas.chat.parts import DETAILS
from app.api.schemas.chat.tools import MODES, TOOLS_LIMIT
from app.api.schemas.fields import JSONSchema
from app.vocabulary.chat.message import ROLES

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


def part() -> JSONSchema:
    """Return the schema of one part; parts of other types may be known to a vendor."""
    image = _object(
        "url", url={"type": "string", "minLength": 1}, detail=_words(*DETAILS, maybe=True)
    )
    sound = _object("data", "format", data=_TEXT, format=_TEXT)
    file = _object(file_data=_MAYBE, file_id=_MAYBE, filename=_MAYBE)
    return {
        "oneOf": [
            _object("type", "text", type=_words("text"), text=_TEXT),
            _object("type", "image_url", type=_words("image_url"), image_url=image),
            _object("type", "input_audio", type=_words("input_audio"), input_audio=sound),
            _object("type", "file", type=_words("file"), file=file),
            _object("type", "refusal", type=_words("refusal"), refusal=_TEXT),
        ]
    }


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
    """Return the schema of the messages."""
    content = {"oneOf": [_TEXT, _list(part(), ELEMENTS_LIMIT, 1), {"type": "null"}]}
    message = _object(
        "role",
        role=_words(*ROLES),
        content=content,
        name=_MAYBE,
        refusal=_MAYBE,
        reasoning_content=_MAYBE,
        tool_calls=_list(_call(), ELEMENTS_LIMIT, maybe=True),
        tool_call_id=_MAYBE,
    )
    return _list(message, ELEMENTS_LIMIT, 1)


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
