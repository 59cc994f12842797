"""JSON values of vendors as counts, numbers and objects."""

from typing import Any

import pytest

from app.gateways.decoding.parsing import COUNT_LIMIT, failed, load, number, plain_mapping, whole
from app.vendors.vendor import Vendor
from app.vocabulary.errors import VendorFailed

VENDOR = Vendor(name="sim", gateway="openai", base_url="http://v.invalid")


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (0, 0),
        (7, 7),
        (7.0, 7),
        (7.9, 7),
        (COUNT_LIMIT - 1, COUNT_LIMIT - 1),
        (COUNT_LIMIT, None),
        (-1, None),
        (True, None),
        ("7", None),
        (None, None),
        ([7], None),
        (float("nan"), None),
        (float("inf"), None),
    ],
)
def test_a_count_is_a_number_of_at_least_0(value: Any, count: int | None) -> None:
    assert whole(value) == count


@pytest.mark.parametrize(
    ("value", "found"), [(-1.5, -1.5), (0, 0), (True, None), ("1", None), (None, None)]
)
def test_a_number_is_no_text_and_no_boolean(value: Any, found: float | None) -> None:
    assert number(value) == found


@pytest.mark.parametrize("value", [None, [], "x", 1, [{"a": 1}]])
def test_anything_but_an_object_is_an_empty_one(value: Any) -> None:
    assert plain_mapping(value) == {}
    assert plain_mapping({"a": value}) == {"a": value}


def test_json_that_is_malformed_is_a_failure_of_the_vendor() -> None:
    assert load(VENDOR, b'{"a": NaN}') == {"a": None}
    with pytest.raises(VendorFailed, match="The vendor `sim` sent something that is not JSON") as e:
        load(VENDOR, b"{")
    assert e.value.billable


def test_a_malformed_response_may_be_billed() -> None:
    error = failed(VENDOR, "sent nothing")
    assert (error.message, error.billable, error.status) == (
        "The vendor `sim` sent nothing.",
        True,
        502,
    )
