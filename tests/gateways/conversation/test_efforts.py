from typing import Any

import pytest

from app.gateways.conversation.efforts import effort_of, fitting_budget
from app.gateways.conversation.omissions import Omissions
from app.vendors.vendor import Vendor
from app.vocabulary.errors import InvalidRequest, UnsupportedParameter
from tests.gateways.chat_rows import asked

VENDOR = Vendor(name="v", gateway="anthropic", base_url="http://x")
EFFORTS: dict[str, Any] = {"none": 0, "low": "little", "high": 9000}


def effort(wanted: str | None, efforts: dict[str, Any], vendor: Vendor = VENDOR) -> Any:
    fields = {} if wanted is None else {"reasoning_effort": wanted}
    return effort_of(vendor, asked("v/m", "hi", **fields), efforts, Omissions(vendor))


@pytest.mark.parametrize(
    ("wanted", "found"), [(None, None), ("none", 0), ("low", "little"), ("high", 9000)]
)
def test_an_effort_is_the_models_own_word(wanted: str | None, found: Any) -> None:
    assert effort(wanted, EFFORTS) == found


def test_no_effort_is_what_a_model_without_reasoning_makes_anyway() -> None:
    assert effort("none", {}) is None


def test_an_effort_that_the_model_lacks_is_refused_with_those_that_it_has() -> None:
    with pytest.raises(UnsupportedParameter, match="none, low, high"):
        effort("xhigh", EFFORTS)
    with pytest.raises(UnsupportedParameter, match="supports none as"):
        effort("low", {})
    with pytest.raises(UnsupportedParameter, match="only low"):
        effort("none", {"low": "low"})


def test_an_effort_is_left_out_and_told_where_the_entry_says_so() -> None:
    lax = Vendor(name="v", gateway="anthropic", base_url="http://x", drop_unsupported=True)
    omissions = Omissions(lax)
    assert effort_of(lax, asked("v/m", "hi", reasoning_effort="xhigh"), EFFORTS, omissions) is None
    assert omissions.names == ("reasoning_effort",)


@pytest.mark.parametrize(
    ("budget", "limit", "fitting"),
    [(2048, 64_000, 2048), (16_384, 4000, 3000), (1024, 1366, 1024), (32_768, 43_000, 32_250)],
)
def test_a_budget_leaves_room_for_the_reply(budget: int, limit: int, fitting: int) -> None:
    assert fitting_budget(budget, limit) == fitting


@pytest.mark.parametrize("limit", [0, 1, 1000, 1365])
def test_a_limit_below_the_least_budget_is_refused_by_both_names(limit: int) -> None:
    with pytest.raises(InvalidRequest) as caught:
        fitting_budget(16_384, limit)
    assert caught.value.param == "reasoning_effort"
    assert "max_completion_tokens" in caught.value.message
    assert "1366" in caught.value.message
