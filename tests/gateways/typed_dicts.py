"""What is wrong with a JSON value by the typed dicts that a vendor's client publishes."""

import functools
import types
import typing
from collections.abc import Iterable, Iterator
from typing import Any

import typing_extensions as te

#: A path in the value, and what is wrong there.
Problem = tuple[str, str]

_WRAPPERS: tuple[Any, ...] = (te.Annotated, te.Required, te.NotRequired, te.ReadOnly)
_UNIONS = (typing.Union, types.UnionType)
_PLAIN: dict[Any, tuple[type, ...]] = {
    bool: (bool,),
    dict: (dict,),
    float: (int, float),
    int: (int,),
    list: (list,),
    str: (str,),
}


def problems(value: Any, wanted: Any, path: str = "") -> list[Problem]:
    """Return what is wrong with a value; unknown members are wrong, too."""
    wanted = _bare(wanted)
    origin, inner = te.get_origin(wanted), te.get_args(wanted)
    if origin in _UNIONS:
        return _of_union(value, inner, path)
    if te.is_typeddict(wanted):
        return list(_of_members(value, wanted, path))
    if origin is dict:
        items = value.values() if isinstance(value, dict) else [None]
        return [it for item in items for it in problems(item, inner[1], f"{path}.*")]
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return _of_list(value, inner[0], path)
    if origin in (typing.Literal, te.Literal):
        is_right = value in inner
    else:
        is_right = wanted in (Any, object) or _is_plain(value, wanted)
    return [] if is_right else [(path, f"{value!r:.60} is no {wanted}")]


def _bare(wanted: Any) -> Any:
    """Return a type without what only describes it."""
    while True:
        origin = te.get_origin(wanted)
        if origin in _WRAPPERS:
            wanted = te.get_args(wanted)[0]
        elif isinstance(wanted, te.TypeAliasType):
            wanted = wanted.__value__
        elif isinstance(origin, te.TypeAliasType):
            wanted = origin.__value__[te.get_args(wanted)]
        else:
            return wanted


def _of_union(value: Any, members: tuple[Any, ...], path: str) -> list[Problem]:
    """Return what is wrong by the member that fits best, by its tag or else by its problems."""
    found = [problems(value, member, path) for member in members]
    return min(found, key=lambda it: (sum(where.endswith((".type", ".role")) for where, _ in it),
                                      len(it)))  # fmt: skip


def _of_members(value: Any, wanted: Any, path: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield path, f"{value!r:.60} is no {wanted.__name__}"
        return
    hints, needed = _hints(wanted)
    for name in sorted(needed - value.keys()):
        yield path, f"{name} is missing in {wanted.__name__}"
    for name, item in value.items():
        if name in hints:
            yield from problems(item, hints[name], f"{path}.{name}")
        else:
            yield f"{path}.{name}", f"is no member of {wanted.__name__}"


def _of_list(value: Any, wanted: Any, path: str) -> list[Problem]:
    if not isinstance(value, list):
        return [(path, f"{value!r:.60} is no list")]
    return [it for item in value for it in problems(item, wanted, f"{path}[]")]


@functools.cache
def _hints(wanted: Any) -> tuple[dict[str, Any], frozenset[str]]:
    hints = te.get_type_hints(wanted, include_extras=True)
    origins: dict[str, Any] = {name: te.get_origin(hint) for name, hint in hints.items()}
    marked = {name for name, origin in origins.items() if origin is te.Required}
    optional = {name for name, origin in origins.items() if origin is te.NotRequired}
    rest = frozenset(hints) - optional if wanted.__total__ else frozenset[str]()
    return hints, frozenset(marked) | rest


def _is_plain(value: Any, wanted: Any) -> bool:
    if wanted in (None, type(None)):
        return value is None
    if isinstance(value, bool) and wanted is not bool:
        return False
    kinds = _PLAIN.get(wanted, (wanted.__mro__[-2],) if isinstance(wanted, type) else ())
    return isinstance(value, kinds)
