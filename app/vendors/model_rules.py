"""Rules for single models of a vendor, by glob: data of the vendor table."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from marshmallow import RAISE, Schema, fields, validate

from app.vendors.vendor import Vendor
from app.vocabulary.chat.parameters import ALL_PARAMETERS


@dataclass(frozen=True, slots=True)
class ModelRules:
    """The rules for requests to one model.

    unsupported  parameters that it does not support
    renames      parameter -> the vendor's name for it
    sends        fields of every request, unless the caller sets them
    bridge_sends the same, of text completions alone
    efforts      word of `reasoning_effort` -> the vendor's word for it, or its budget in tokens
    without_reasoning  fields that are sent instead of the effort `none`
    traits       what the model can do or demands, in words of its gateway
    """

    unsupported: frozenset[str] = frozenset()
    renames: Mapping[str, str] = field(default_factory=dict)
    sends: Mapping[str, Any] = field(default_factory=dict)
    bridge_sends: Mapping[str, Any] = field(default_factory=dict)
    efforts: Mapping[str, str | int] = field(default_factory=dict)
    without_reasoning: Mapping[str, Any] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()

    def body(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a request with these parameters."""
        renamed = {self.renames.get(name, name): value for name, value in parameters.items()}
        return {**self.sends, **renamed}


#: Of a model that no glob matches.
NO_RULES = ModelRules()

#: The rules that were looked up: (id of the table, model) -> the table and the rules. It holds the
#: table, so that no other one gets its id. Callers choose the names, so it is bounded.
_FOUND: dict[tuple[int, str], tuple[Mapping[str, Any], ModelRules]] = {}
_FOUND_LIMIT = 1_024


def is_native(vendor: Vendor, model_name: str) -> bool:
    """Return whether a model's text completions have an endpoint of their own."""
    return _matches(model_name, vendor.native)


@lru_cache(_FOUND_LIMIT)
def _matches(name: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def rules_of(vendor: Vendor, model_name: str) -> ModelRules:
    """Return the rules of all globs that match the model; later ones override earlier ones."""
    table: Mapping[str, Any] | None = vendor.quirks.get("models")
    if not table:
        return NO_RULES
    found = _FOUND.get((id(table), model_name))
    if found is not None and found[0] is table:
        return found[1]
    rules = _rules_in(table, model_name)
    if len(_FOUND) >= _FOUND_LIMIT:
        _FOUND.clear()
    _FOUND[id(table), model_name] = table, rules
    return rules


def _rules_in(table: Mapping[str, Any], model_name: str) -> ModelRules:
    tables: dict[str, Any] = {name: {} for name in _TABLES}
    names: dict[str, Any] = {name: set() for name in _NAMES}
    for glob, rules in table.items():
        if fnmatchcase(model_name, glob):
            for key, value in rules.items():
                (tables[key] if key in tables else names[key]).update(value)
    found: dict[str, Any] = {key: frozenset(some) for key, some in names.items()}
    return ModelRules(**tables, **found)


#: The keys whose rules are tables, and those whose rules are lists of names.
_TABLES = ("renames", "sends", "bridge_sends", "efforts", "without_reasoning")
_NAMES = ("unsupported", "traits")


def with_rename(vendor: Vendor, model_name: str, parameter: str, name: str) -> Vendor:
    """Return an entry in which one model has another name for a parameter."""
    models = dict(vendor.quirks.get("models", {}))
    glob = _glob_of(model_name)
    rules = dict(models.pop(glob, {}))
    rules["renames"] = {**rules.get("renames", {}), parameter: name}
    models[glob] = rules  # the last one: it overrides the others
    return replace(vendor, quirks={**vendor.quirks, "models": models})


def _glob_of(model_name: str) -> str:
    """Return a glob that matches only this name."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in model_name)


#: The contract's words of `reasoning_effort`, from the least on.
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")

_PARAMETER = validate.OneOf(ALL_PARAMETERS)


class _RulesSchema(Schema):
    class Meta:
        unknown = RAISE

    unsupported = fields.List(fields.String(validate=_PARAMETER))
    renames = fields.Dict(keys=fields.String(validate=_PARAMETER), values=fields.String())
    sends = fields.Dict(keys=fields.String())
    bridge_sends = fields.Dict(keys=fields.String())
    efforts = fields.Dict(keys=fields.String(validate=validate.OneOf(EFFORTS)))
    without_reasoning = fields.Dict(keys=fields.String())
    traits = fields.List(fields.String())


#: The `models` table of a vendor's quirks.
MODELS = fields.Dict(keys=fields.String(), values=fields.Nested(_RulesSchema))
