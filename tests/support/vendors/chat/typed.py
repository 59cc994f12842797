"""Whether a JSON value is what an official SDK's types say: nothing missing, nothing unknown.

SDKs check little when they send: their types are hints. A vendor checks all of it.
"""

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import BaseModel
from typing_extensions import ReadOnly, TypeAliasType, is_typeddict

#: A place in a value and what is wrong there.
Complaint = tuple[tuple[str | int, ...], str]

_LISTS = (list, Sequence, Iterable, set, tuple)
_DICTS = (dict, Mapping)
_SCALARS: Mapping[type, tuple[type, ...]] = {
    str: (str,),
    bool: (bool,),
    int: (int,),
    float: (int, float),
    type(None): (type(None),),
    bytes: (str,),  # in JSON, as base64
}


def complaint(value: Any, of: Any, ignoring: frozenset[str] = frozenset()) -> str | None:
    """Return the deepest thing that is wrong with a value, as `place: what`, or None.

    Keys in `ignoring` are allowed in every object.
    """
    found = min(_complaints(value, of, (), ignoring), key=lambda it: -len(it[0]), default=None)
    return found and f"{'.'.join(map(str, found[0])) or 'body'}: {found[1]}"


def _complaints(
    value: Any, of: Any, at: tuple[str | int, ...], ignoring: frozenset[str]
) -> Iterator[Complaint]:
    of = _bare(of)
    origin, arguments = get_origin(of), get_args(of)
    if origin in (Union, types.UnionType):
        yield from _complaints_of_union(value, arguments, at, ignoring)
    elif origin is Literal:
        if value not in arguments:
            yield at, f"Input should be one of {', '.join(map(repr, arguments))}"
    elif origin in _LISTS or of in _LISTS:
        yield from _complaints_of_list(value, arguments, at, ignoring)
    elif origin in _DICTS or of in _DICTS:
        yield from _complaints_of_dict(value, arguments, at, ignoring)
    elif is_typeddict(of) or _is_model(of):
        yield from _complaints_of_object(value, of, at, ignoring)
    else:
        yield from _complaints_of_scalar(value, of, at)


def _bare(of: Any) -> Any:
    """Return a type without what is around it: aliases, notes, whether it is required."""
    origin, arguments = get_origin(of), get_args(of)
    if isinstance(of, TypeAliasType):
        return _bare(of.__value__)
    if isinstance(origin, TypeAliasType):
        return _bare(origin.__value__[arguments])
    wrapped = origin in (Annotated, Required, NotRequired, ReadOnly)
    return _bare(arguments[0]) if wrapped else of


def _complaints_of_scalar(value: Any, of: Any, at: tuple[str | int, ...]) -> Iterator[Complaint]:
    if isinstance(of, type) and issubclass(of, Enum):
        if value not in [member.value for member in of]:
            yield at, f"Input should be one of {', '.join(str(member.value) for member in of)}"
    elif of in _SCALARS:
        if not isinstance(value, _SCALARS[of]) or (isinstance(value, bool) and of is not bool):
            yield at, f"Input should be a valid {of.__name__}"
    elif of not in (Any, object) and not isinstance(of, TypeVar):
        yield at, f"Input should be a {of}"


def _is_model(of: Any) -> bool:
    return isinstance(of, type) and issubclass(of, BaseModel)


def _complaints_of_union(
    value: Any, variants: Sequence[Any], at: tuple[str | int, ...], ignoring: frozenset[str]
) -> Iterator[Complaint]:
    """Yield what is wrong by the variant that comes nearest; answers' own types are none."""
    asked = [one for one in variants if not _is_model(one)] if _has_typed(variants) else variants
    found = [list(_complaints(value, one, at, ignoring)) for one in asked]
    if all(found):
        yield from min(found, key=lambda one: (-max(len(place) for place, _ in one), len(one)))


def _has_typed(variants: Sequence[Any]) -> bool:
    return any(is_typeddict(one) for one in variants)


def _complaints_of_list(
    value: Any, arguments: Sequence[Any], at: tuple[str | int, ...], ignoring: frozenset[str]
) -> Iterator[Complaint]:
    if not isinstance(value, list):
        yield at, "Input should be a valid list"
        return
    for index, item in enumerate(value):
        yield from _complaints(item, arguments[0] if arguments else Any, (*at, index), ignoring)


def _complaints_of_dict(
    value: Any, arguments: Sequence[Any], at: tuple[str | int, ...], ignoring: frozenset[str]
) -> Iterator[Complaint]:
    if not isinstance(value, dict):
        yield at, "Input should be a valid dictionary"
        return
    for name, item in value.items():
        yield from _complaints(item, arguments[1] if arguments else Any, (*at, name), ignoring)


def _complaints_of_object(
    value: Any, of: Any, at: tuple[str | int, ...], ignoring: frozenset[str]
) -> Iterator[Complaint]:
    if not isinstance(value, dict):
        yield at, "Input should be an object"
        return
    hints, required = _fields(of)
    for name in value.keys() - hints.keys() - ignoring:
        # as deep as the value there, so that it outdoes variants that lack the key, too
        yield (*at, name), "Extra inputs are not permitted"
    for name in required - value.keys():
        yield (*at, name), "Field required"
    for name in value.keys() & hints.keys():
        yield from _complaints(value[name], hints[name], (*at, name), ignoring)


@cache
def _fields(of: Any) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the types of an object's fields by their names in JSON, and which must be there."""
    if not is_typeddict(of):
        fields = {field.alias or name: field for name, field in of.model_fields.items()}
        required = {name for name, field in fields.items() if field.is_required()}
        fields |= of.model_fields  # Google's servers take both names of a field
        return {name: field.annotation for name, field in fields.items()}, frozenset(required)
    hints = {
        name.rstrip("_"): hint for name, hint in get_type_hints(of, include_extras=True).items()
    }
    return hints, frozenset(
        name
        for name, hint in hints.items()
        if get_origin(hint) is Required
        or (name in of.__required_keys__ and get_origin(hint) is not NotRequired)
    )


def unnamed(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a body without the names of results' functions: no type has them; many send them."""
    results = [it for it in body.get("messages", ()) if it.get("role") == "tool" and "name" in it]
    if not results:
        return body
    told = [
        {name: value for name, value in it.items() if name != "name"} if it in results else it
        for it in body["messages"]
    ]
    return {**body, "messages": told}
