"""Callers' JSON Schemas in the subset that Google's own JSON Schema fields take.

`parametersJsonSchema` and `responseJsonSchema` take JSON Schema, and the reference of
GenerationConfig lists the keywords that they read. The older `parameters` and `responseSchema`
take a subset of OpenAPI and refuse a request for one unknown keyword: they are not used.

Beyond that, the meaning stays: names of properties are never touched, and keys keep their order.
Keywords that Google does not read, such as `pattern` and `default`, are left out. A reference
stands alone, so its siblings move around it. A node has one type: several become `anyOf`, and so
do those of an `enum` of other values than strings and numbers, which is left out for them.
A schema that refers to itself is refused, since Google unrolls it "to a limited degree" only.
Source: ai.google.dev, GenerationConfig.responseJsonSchema.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from app.vocabulary.errors import InvalidRequest

#: Keywords whose value is kept as it is.
PLAIN = frozenset(
    {
        "description",
        "enum",
        "format",
        "maxItems",
        "maximum",
        "minItems",
        "minimum",
        "propertyOrdering",
        "required",
        "title",
        "type",
    }
)

#: Keywords with a schema, with a list of schemas, and with schemas by name.
SINGLE = frozenset({"additionalProperties", "items"})
UNIONS = frozenset({"anyOf", "oneOf"})
LISTS = UNIONS | {"prefixItems"}
NAMED = frozenset({"properties"})

#: Keywords that say something of one type alone.
OF_TYPE: Mapping[str, frozenset[str]] = {
    "array": frozenset({"items", "maxItems", "minItems", "prefixItems"}),
    "object": frozenset({"additionalProperties", "properties", "propertyOrdering", "required"}),
    "integer": frozenset({"format", "maximum", "minimum"}),
    "number": frozenset({"format", "maximum", "minimum"}),
    "string": frozenset({"format"}),
}

#: The types of the values of an `enum`, as JSON Schema names them.
TYPES: Mapping[type, tuple[str, ...]] = {
    bool: ("boolean",),
    dict: ("object",),
    float: ("number",),
    int: ("integer", "number"),
    list: ("array",),
    str: ("string",),
    type(None): ("null",),
}

#: The types without an `enum`: Google reads those of strings and numbers.
WITHOUT_ENUM = ("array", "boolean", "null", "object")

#: Levels of schemas inside each other, references followed.
DEPTH_LIMIT = 64

#: Schemas that are converted, those that references lead to included.
NODES_LIMIT = 10_000

#: The types that JSON Schema has: array, boolean, integer, null, number, object, string.
TYPES_LIMIT = 7

#: Most digits of the place that a reference names in a list.
DIGITS_LIMIT = 9

_UNSAFE = re.compile(r"[^\w.-]", re.ASCII)


def json_schema(schema: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the schema as Google takes it; `path` is the caller's name for it.

    Raises: InvalidRequest if it refers to itself, to nothing, or is no JSON Schema.
    """
    return _Conversion(schema, path).whole()


def _odd_types(values: Any) -> list[str] | None:
    """Return the types of an `enum` whose node has none; None if all are strings or numbers."""
    if not isinstance(values, list):
        return None
    words = [TYPES.get(type(value), ("string",))[0] for value in values]
    return list(dict.fromkeys(words)) if set(words).intersection(WITHOUT_ENUM) else None


class _Conversion:
    """The conversion of one schema, with the definitions that it refers to."""

    def __init__(self, root: Mapping[str, Any], path: str) -> None:
        self._root, self._path = root, path
        self._defs: dict[str, Any] = {}
        # What references lead to, by its id: it may have many names.
        self._names: dict[int, str] = {}
        self._open: set[int] = set()  # those inside which the conversion is
        self._alike: Counter[str] = Counter()  # definitions whose names would be the same
        self._depth = self._count = 0

    def whole(self) -> dict[str, Any]:
        converted = self._node(self._root)
        return {**converted, **({"$defs": self._defs} if self._defs else {})}

    def _node(self, node: Any) -> dict[str, Any]:
        if node is True:
            return {}
        if not isinstance(node, dict):
            raise self._refused("is not a JSON Schema that Google takes")
        self._depth, self._count = self._depth + 1, self._count + 1
        if self._depth > DEPTH_LIMIT:
            raise self._refused(f"is nested more than {DEPTH_LIMIT} levels deep")
        if self._count > NODES_LIMIT:
            raise self._refused(f"has more than {NODES_LIMIT} schemas in it")
        converted = self._converted(node)
        self._depth -= 1
        return converted

    def _converted(self, node: dict[str, Any]) -> dict[str, Any]:
        if isinstance(pointer := node.get("$ref"), str):
            return self._around({"$ref": f"#/$defs/{self._defined(pointer)}"}, node, "$ref")
        if isinstance(parts := node.get("allOf"), list) and parts:
            if len(parts) > 1:
                raise self._refused("has several schemas in `allOf`, which Google does not take")
            return self._around(self._node(parts[0]), node, "allOf")
        if "const" in node:
            node = {"enum": [node["const"]], **{k: v for k, v in node.items() if k != "const"}}
        types = node.get("type") or _odd_types(node.get("enum"))
        if isinstance(types, list) and not UNIONS.intersection(node):
            return self._alternatives(node, self._distinct(types))
        return dict(self._kept(node))

    def _around(self, inner: dict[str, Any], node: Mapping[str, Any], word: str) -> dict[str, Any]:
        """Return a schema with the siblings of its `word` around it."""
        beside = self._node({name: value for name, value in node.items() if name != word})
        if "anyOf" in beside:
            raise self._refused(f"has alternatives beside `{word}`, which Google does not take")
        return {**beside, "anyOf": [inner]} if beside else inner

    def _kept(self, node: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        is_fixed = node.get("type") in WITHOUT_ENUM
        for keyword, value in node.items():
            if keyword == "enum" and is_fixed:
                continue
            if keyword in PLAIN or (keyword in SINGLE and isinstance(value, bool)):
                yield keyword, value
            elif keyword == "items" and isinstance(value, list):  # the older word for it
                yield "prefixItems", [self._node(inner) for inner in value]
            elif keyword in SINGLE:
                yield keyword, self._node(value)
            elif keyword in LISTS and isinstance(value, list):
                yield keyword, [self._node(inner) for inner in value]
            elif keyword in NAMED and isinstance(value, dict):
                yield keyword, {name: self._node(inner) for name, inner in value.items()}

    def _distinct(self, types: list[Any]) -> list[Any]:
        """Return a node's types, each once: the node is converted for each, and so on below it."""
        found: list[Any] = []
        for word in types:
            if word not in found:
                found.append(word)
            if len(found) > TYPES_LIMIT:
                raise self._refused(f"has a `type` of more than {TYPES_LIMIT} words")
        return found

    def _alternatives(self, node: Mapping[str, Any], types: list[Any]) -> dict[str, Any]:
        """Return a node of several types as alternatives, each whole."""
        beside = {k: v for k, v in node.items() if k != "type"}
        if len(types) == 1:
            return dict(self._kept({"type": types[0], **beside}))
        known = {word for word in types if isinstance(word, str)}
        apart = frozenset[str]().union({"enum"}, *(OF_TYPE.get(word, ()) for word in known))
        options = (self._alternative(beside, word) for word in types)
        shared = {k: v for k, v in beside.items() if k not in apart}
        found = [option for option in options if option is not None]
        return {**dict(self._kept(shared)), "anyOf": found}

    def _alternative(self, node: Mapping[str, Any], word: Any) -> dict[str, Any] | None:
        """Return a node as one of this type; None if no value of its `enum` is."""
        own = OF_TYPE.get(word, frozenset()) if isinstance(word, str) else frozenset()
        option = {"type": word, **{k: v for k, v in node.items() if k in own}}
        if isinstance(values := node.get("enum"), list):
            option["enum"] = [value for value in values if word in TYPES.get(type(value), ())]
            if not option["enum"]:
                return None
        return dict(self._kept(option))

    def _defined(self, pointer: str) -> str:
        """Return the name of the definition that a reference means, and define it."""
        target = self._found(pointer)
        key = id(target)
        if key in self._open or target is self._root:
            raise self._refused(f"refers to itself (`{pointer[:64]}`), which Google does not take")
        if key not in self._names:
            self._names[key] = name = self._new_name(pointer)
            self._open.add(key)
            self._defs[name] = {}  # the name is taken
            self._defs[name] = self._node(target)
            self._open.discard(key)
        return self._names[key]

    def _new_name(self, pointer: str) -> str:
        """Return a name for a definition that no other has."""
        plain = _UNSAFE.sub("_", pointer.removeprefix("#/").removeprefix("$defs/"))
        name = plain
        while name in self._defs:
            self._alike[plain] += 1
            name = f"{plain}_{self._alike[plain]}"
        return name

    def _found(self, pointer: str) -> Any:
        found: Any = self._root
        for step in pointer.removeprefix("#").split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list):
                at = int(key) if key.isdecimal() and len(key) <= DIGITS_LIMIT else len(found)
                found = found[at] if at < len(found) else None
            else:
                found = found.get(key) if isinstance(found, dict) else None
        if found is None or not pointer.startswith("#"):
            raise self._refused(f"refers to `{pointer[:64]}`, which is not in it")
        return found

    def _refused(self, why: str) -> InvalidRequest:
        return InvalidRequest(f"The schema `{self._path}` {why}.", param=self._path)
