from typing import Any

import pytest

from app.gateways.conversation.omissions import Omissions, check_old_functions
from app.vendors.vendor import Vendor
from app.vocabulary.errors import UnsupportedParameter
from tests.gateways.chat_rows import asked

VENDOR = Vendor(name="v", gateway="anthropic", base_url="http://x")
USER = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("fields", "messages", "path"),
    [
        ({"functions": [{"name": "f"}]}, [USER], "functions"),
        ({"function_call": "none"}, [USER], "function_call"),
        ({}, [{"role": "function", "name": "f", "content": "1"}], "messages[0].role"),
        ({}, [USER, {"role": "assistant", "content": None,
                     "function_call": {"name": "f", "arguments": "{}"}}],
         "messages[1].function_call"),
        ({}, [USER, {"role": "assistant", "audio": {"id": "a"}}], "messages[1].audio"),
    ],
)  # fmt: skip
def test_the_old_fields_of_functions_are_refused_with_todays(
    fields: dict[str, Any], messages: list[Any], path: str
) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        check_old_functions(VENDOR, asked("v/m", messages, **fields))
    assert caught.value.param == path
    assert path in caught.value.message


def test_nulls_of_a_clients_own_message_are_none() -> None:
    back = {"role": "assistant", "content": "a", "function_call": None, "audio": None}
    check_old_functions(VENDOR, asked("v/m", [USER, back, USER]))


def test_a_hint_is_left_out_and_named_once() -> None:
    omissions = Omissions(VENDOR)
    omissions.leave_out_hint("cache_control")
    omissions.leave_out_hint("cache_control")
    assert omissions.names == ("cache_control",)
