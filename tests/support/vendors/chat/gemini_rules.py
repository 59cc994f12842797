"""What Google refuses of a conversation that has the right types."""

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from google.genai import types

from tests.support.vendors.chat.script import signature
from tests.support.vendors.gemini import CONFIG_FIELDS

Body = Mapping[str, Any]

#: What a part may hold, exactly one of them.
DATA = {"text", "inlineData", "fileData", "functionCall", "functionResponse"}

#: What stands for a signature that was lost; plain, or in base64 as a field of bytes has it.
DUMMY = "skip_thought_signature_validator"
DUMMIES = {DUMMY, base64.b64encode(DUMMY.encode()).decode()}

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")

#: Fields of `Schema` that Google reads; the SDK's type has more than the API's reference.
SCHEMA = {field.alias or name for name, field in types.Schema.model_fields.items()}


def is_third(model: str) -> bool:
    """Whether a model is of the third generation or later: it numbers calls, and signs them."""
    return re.match(r"gemini-([3-9])", model) is not None


def calls_sign(model: str, body: Body) -> bool:
    """Whether a model signs what it answers: it does where it thinks."""
    config = body.get("generationConfig", {}).get("thinkingConfig", {})
    return is_third(model) or config.get("thinkingBudget", 0) != 0


#: What holds names that are not Google's.
FREE = {"args", "response", "properties", "parametersJsonSchema", "responseJsonSchema", "labels"}


def in_camel_case(value: Any) -> Any:
    """Return JSON with the first names of fields; servers take both, and the SDK sends both."""
    if isinstance(value, list):
        return [in_camel_case(one) for one in value]
    if not isinstance(value, dict):
        return value
    named = {re.sub("_(.)", lambda it: it[1].upper(), name): one for name, one in value.items()}
    return {name: one if name in FREE else in_camel_case(one) for name, one in named.items()}


def complaints(model: str, body: Body, issuer: str = "") -> Iterator[str]:
    """Yield what is wrong with a request, in Google's words; `issuer` has signed what it takes."""
    if not body.get("contents"):
        yield "* GenerateContentRequest.contents: contents is not specified\n"
    for at, content in enumerate(body["contents"]):
        yield from _of_content(model, at, content)
    turns = _turns(body["contents"])
    yield from _of_turns(turns)
    yield from _of_signatures(model, turns, issuer)
    yield from _of_tools(body)
    yield from _of_config(model, body)


def _of_content(model: str, at: int, content: Body) -> Iterator[str]:
    if content.get("role") not in ("user", "model"):
        yield "Please use a valid role: user, model."
    if not content.get("parts"):
        yield f"* GenerateContentRequest.contents[{at}].parts: contents.parts must not be empty.\n"
    for place, part in enumerate(content["parts"]):
        where = f"contents[{at}].parts[{place}]"
        if len(part.keys() & DATA) != 1:
            yield f"* {where}.data: required oneof field 'data' must have one initialized field\n"
        # the SDK brings back the empty text that ends a stream
        if part.get("text") == "" and content["role"] == "user":
            yield f"Unable to submit request because {where} must have a text that is not empty."
        for kind in ("functionCall", "functionResponse"):
            if "id" in part.get(kind, {}) and not is_third(model):
                yield f"Invalid JSON payload received. Unknown name \"id\" at '{where}.{kind}'"
        if (
            "functionResponse" in part
            and not {"name", "response"} <= part["functionResponse"].keys()
        ):
            yield f"* {where}.function_response.name: Name cannot be empty.\n"
        if "inlineData" in part and not {"mimeType", "data"} <= part["inlineData"].keys():
            yield f"{where}.inlineData: mimeType and data are required"


def _kinds(content: Body, kind: str) -> list[Body]:
    return [part[kind] for part in content["parts"] if kind in part]


def _turns(contents: Sequence[Body]) -> list[Body]:
    """Return the turns; contents of one role that follow one another are one."""
    return [
        {"role": role, "parts": [part for content in group for part in content["parts"]]}
        for role, group in groupby(contents, key=lambda content: content["role"])
    ]


def _of_turns(contents: Sequence[Body]) -> Iterator[str]:
    """Calls follow a user's turn or results; results follow calls, as many as those."""
    before: Body = {"role": "", "parts": []}
    for content in contents:
        calls, results = _kinds(content, "functionCall"), _kinds(content, "functionResponse")
        if calls and before["role"] != "user":
            yield (
                "Please ensure that function call turn comes immediately after a user turn or "
                "after a function response turn."
            )
        called = _kinds(before, "functionCall")
        if results and not called:
            yield (
                "Please ensure that function response turn comes immediately after a function "
                "call turn."
            )
        if (results or called) and len(results) != len(called):
            yield (
                "Please ensure that the number of function response parts is equal to the number "
                "of function call parts of the function call turn."
            )
        if not all(_answers(*pair) for pair in zip(results, called, strict=False)):
            yield "Function responses are not those of the function calls, in their order."
        before = content


def _answers(result: Body, call: Body) -> bool:
    """Whether a result is a call's: the SDK sends its name alone."""
    named = call["name"], call.get("id")
    return (result["name"], result.get("id", named[1])) == named


def _of_signatures(model: str, contents: Sequence[Body], issuer: str) -> Iterator[str]:
    """Of the turn that goes on, the first call of each step is signed; none is changed.

    It begins with the last content of the user that holds anything but results.
    """
    asked = [
        at
        for at, content in enumerate(contents)
        if content["role"] == "user"
        and any("functionResponse" not in part for part in content["parts"])
    ]
    for at, content in enumerate(contents):
        calls = [part for part in content["parts"] if "functionCall" in part]
        current = is_third(model) and at > (asked or [-1])[-1]
        if current and calls and "thoughtSignature" not in calls[0]:
            name = calls[0]["functionCall"]["name"]
            yield (
                f"Function call is missing a thought_signature in functionCall parts. Function "
                f"call `default_api:{name}`, position {at + 1}."
            )
        for part in content["parts"]:
            given = part.get("thoughtSignature", DUMMY)
            # the SDK writes the bytes with base64's other alphabet
            plain = given.translate(str.maketrans("-_", "+/"))
            if given not in DUMMIES and plain != _signature_of(part, issuer):
                yield "Corrupted thought signature."


def _signature_of(part: Body, issuer: str) -> str:
    if "functionCall" not in part:
        return signature("text", by=issuer)
    call = part["functionCall"]
    return signature(call["name"], json.dumps(call.get("args", {})), by=issuer)


def _of_tools(body: Body) -> Iterator[str]:
    declared = [
        declaration
        for tool in body.get("tools", [])
        for declaration in tool.get("functionDeclarations", [])
    ]
    for at, one in enumerate(declared):
        where = f"tools[0].function_declarations[{at}]"
        if not NAME.fullmatch(one.get("name", "")):
            yield f"Invalid value at '{where}.name': must start with a letter or an underscore"
        if "parameters" in one and "parametersJsonSchema" in one:
            yield f"{where}: parameters and parameters_json_schema are mutually exclusive"
        if one.get("parameters", {}).get("type") and not one["parameters"].get("properties"):
            yield f"{where}.parameters.properties: should be non-empty for OBJECT type"
        yield from _of_schema(one.get("parameters"), f"{where}.parameters")
    config = body.get("toolConfig", {}).get("functionCallingConfig", {})
    allowed = config.get("allowedFunctionNames", [])
    if allowed and config.get("mode") not in ("ANY", "VALIDATED"):
        yield "allowed_function_names should only be set when the mode is ANY or VALIDATED."
    if set(allowed) - {one["name"] for one in declared}:
        yield "allowed_function_names should be a subset of the function declarations."
    if config.get("mode") == "ANY" and not declared:
        yield "Function calling config is set without function_declarations."


def _of_schema(schema: Any, where: str) -> Iterator[str]:
    """Google's own schema knows few words, and one type a node."""
    if not isinstance(schema, dict):
        return
    for name in sorted(schema.keys() - SCHEMA):
        yield f"Invalid JSON payload received. Unknown name \"{name}\" at '{where}'"
    if not isinstance(schema.get("type", ""), str):
        yield f"Invalid value at '{where}.type'"
    if str(schema.get("type", "")).upper() == "ARRAY" and "items" not in schema:
        yield f"{where}.items: missing field."
    if "items" in schema and str(schema.get("type", "")).upper() != "ARRAY":
        yield f"{where}.items: only allowed for ARRAY type"
    for name, one in schema.get("properties", {}).items():
        yield from _of_schema(in_camel_case(one), f"{where}.properties[{name}]")
    for one in [schema.get("items"), *schema.get("anyOf", [])]:
        yield from _of_schema(one, f"{where}.items")


def _of_config(model: str, body: Body) -> Iterator[str]:
    config = body.get("generationConfig", {})
    for name, value in config.items():
        bounds = CONFIG_FIELDS.get(name)
        if bounds and not bounds[0] <= value <= bounds[1]:
            yield f"Unable to submit request because {name} is out of range."
    if len(config.get("stopSequences", [])) > 5:
        yield "Only up to 5 stop sequences are supported."
    if "logprobs" in config and not config.get("responseLogprobs"):
        yield "Logprobs is supported only with response_logprobs."
    yield from _of_thinking(model, config.get("thinkingConfig", {}))
    schemas = {"responseSchema", "responseJsonSchema"} & config.keys()
    kind = config.get("responseMimeType", "text/plain")
    if schemas and kind not in ("application/json", "text/x.enum"):
        yield "Response schema requires response_mime_type to be application/json."
    if kind == "application/json" and body.get("tools") and not is_third(model):
        yield "Function calling with a response mime type: 'application/json' is unsupported"
    yield from _of_schema(config.get("responseSchema"), "generation_config.response_schema")


def _of_thinking(model: str, thinking: Body) -> Iterator[str]:
    budget = thinking.get("thinkingBudget")
    if budget is not None and "thinkingLevel" in thinking:
        yield "You can only set only one of thinking budget and thinking level."
    if "thinkingLevel" in thinking and not is_third(model):
        yield "Thinking level is not supported for this model."
    level = str(thinking.get("thinkingLevel", "")).upper()
    if level == "MINIMAL" and "flash" not in model:
        yield "Thinking level MINIMAL is not supported for this model."
    if (
        budget is not None
        and re.match(r"gemini-2\.5-pro", model)
        and not (budget == -1 or 128 <= budget <= 32768)
    ):
        yield f"The thinking budget {budget} is invalid. Choose a value between 128 and 32768."
    if budget is not None and re.match(r"gemini-(2\.0|1)", model):
        yield "Unable to submit request because Thinking is not supported by this model."
