from typing import Any

import pytest
from marshmallow import Schema, ValidationError

from app.vendors.model_rules import MODELS, ModelRules, is_native, rules_of
from app.vendors.vendor import Vendor

RULES: dict[str, Any] = {
    "*": {"renames": {"seed": "random_seed"}, "sends": {"a": 1, "b": 2}},
    "o3*": {"unsupported": ["stop"], "sends": {"b": 3}},
    "O3*": {"unsupported": ["n"]},
}
VENDOR = Vendor(name="v", gateway="openai", base_url="http://v", quirks={"models": RULES})


def test_a_model_has_the_rules_of_every_glob_that_it_matches_the_later_over_the_earlier() -> None:
    assert rules_of(VENDOR, "o3-mini") == ModelRules(
        frozenset({"stop"}), {"seed": "random_seed"}, {"a": 1, "b": 3}
    )
    assert rules_of(VENDOR, "gpt") == ModelRules(
        frozenset(), {"seed": "random_seed"}, {"a": 1, "b": 2}
    )


def test_a_model_is_native_if_a_glob_of_its_vendor_matches() -> None:
    vendor = Vendor(name="v", gateway="openai", base_url="http://v", native=("a*", "b"))
    assert [is_native(vendor, name) for name in ("a", "ab", "b", "bb")] == [True, True, True, False]
    assert not is_native(VENDOR, "a")


def test_a_vendor_may_have_no_rules() -> None:
    bare = Vendor(name="v", gateway="openai", base_url="http://v")
    assert rules_of(bare, "m").body({"seed": 1}) == {"seed": 1}


def test_parameters_are_renamed_and_outrank_what_is_always_sent() -> None:
    rules = ModelRules(frozenset(), {"seed": "a"}, {"a": 1, "b": 2})
    assert rules.body({"seed": 7, "n": 2}) == {"a": 7, "b": 2, "n": 2}


@pytest.mark.parametrize(
    "wrong",
    [
        {"*": {"unsupported": ["nope"]}},
        {"*": {"renames": {"nope": "x"}}},
        {"*": {"renames": {"seed": 1}}},
        {"*": {"sends": 5}},
        {"*": {"colour": "red"}},
        {"*": 5},
        5,
    ],
)
def test_rules_that_cannot_be_are_found_when_the_table_is_read(wrong: Any) -> None:
    schema: Schema = Schema.from_dict({"models": MODELS})()
    with pytest.raises(ValidationError):
        schema.load({"models": wrong})
