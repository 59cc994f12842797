"""The `quirks.chat` table of a vendor's entry."""

from typing import Any

import pytest
from marshmallow import Schema, ValidationError

from app.gateways.openai.chat_quirks import CHAT, SERVICES, unsupported_in_chat, ways_of
from app.vendors.model_rules import ModelRules
from app.vendors.vendor import Vendor
from app.vocabulary.chat.parameters import CHAT_PARAMETERS


def vendor(**chat: Any) -> Vendor:
    return Vendor(
        name="v",
        gateway="openai",
        base_url="http://v",
        unsupported=frozenset({"logprobs"}),
        quirks={"chat": chat},
    )


def test_an_entry_may_have_no_such_table() -> None:
    assert ways_of(Vendor(name="v", gateway="openai", base_url="http://v")) == {}


def test_what_is_unsupported_is_the_entrys_the_models_and_that_of_other_services() -> None:
    rules = ModelRules(unsupported=frozenset({"stop"}))
    few = {"logprobs", "top_logprobs", "stop"}
    assert unsupported_in_chat(vendor(), rules) == few
    assert unsupported_in_chat(vendor(services=False), rules) == few | SERVICES
    assert set(CHAT_PARAMETERS) >= SERVICES


@pytest.mark.parametrize(
    "wrong",
    [
        {"colour": "red"},
        {"developer": "perhaps"},
        {"call_ids": {"pattern": "x"}},
        {"call_ids": {"pattern": "[", "length": 9}},
        {"call_ids": {"pattern": "x", "length": 4}},
        {"tool_choices": ["some"]},
        {"dialect": "klingon"},
        {"parts": "text"},
        5,
    ],
)
def test_a_table_that_cannot_be_is_found_when_it_is_read(wrong: Any) -> None:
    schema: Schema = Schema.from_dict({"chat": CHAT})()
    with pytest.raises(ValidationError):
        schema.load({"chat": wrong})
