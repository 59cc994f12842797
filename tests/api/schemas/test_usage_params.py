"""The query strings of the usage and cost API."""

import pytest
from werkzeug.datastructures import MultiDict

from app.api.schemas.usage_params import UsageParams, load_costs_params, load_usage_params
from app.vocabulary.errors import InvalidRequest


def load(*given: tuple[str, str]) -> UsageParams:
    """Load a query of usage that starts at 0."""
    return load_usage_params(MultiDict([("start_time", "0"), *given]))


def test_defaults_are_openais() -> None:
    params = load()
    assert (params.width.seconds, params.limit, params.page) == (86_400, 7, None)
    assert (params.timezone, params.as_csv, params.group_by) == ("UTC", False, frozenset())


def test_arrays_are_read_in_both_spellings() -> None:
    params = load(("models[]", "v/a"), ("models", "v/b"), ("group_by[]", "model"))
    assert params.models == frozenset({"v/a", "v/b"})
    assert params.group_by == {"model"}


@pytest.mark.parametrize(
    ("given", "param", "code"),
    [
        ([("start_time", "1")], "start_time", "invalid_value"),
        ([("end_time", "0")], "end_time", "invalid_value"),
        ([("bucket_width", "2d")], "bucket_width", "invalid_value"),
        ([("limit", "32")], "limit", "invalid_value"),
        ([("bucket_width", "1m"), ("limit", "1441")], "limit", "invalid_value"),
        ([("format", "csv"), ("limit", "5")], "limit", "invalid_value"),
        ([("format", "csv"), ("page", "x")], "page", "invalid_value"),
        ([("bom", "true")], "bom", "invalid_value"),
        ([("format", "csv"), ("bom", "yes")], "bom", "invalid_type"),
        ([("colour", "red")], "colour", "unknown_parameter"),
    ],
)
def test_an_invalid_parameter_is_named(given: list[tuple[str, str]], param: str, code: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        load(*given)
    assert (caught.value.param, caught.value.code) == (param, code)


def test_the_start_is_required() -> None:
    with pytest.raises(InvalidRequest) as caught:
        load_usage_params(MultiDict())
    assert (caught.value.param, caught.value.code) == ("start_time", "missing_required_parameter")


def test_costs_have_days_and_line_items() -> None:
    params = load_costs_params(MultiDict([("start_time", "0"), ("line_items", "v/m")]))
    assert (params.models, params.user_ids, params.batch) == (frozenset({"v/m"}), None, None)
    with pytest.raises(InvalidRequest):
        load_costs_params(MultiDict([("start_time", "0"), ("bucket_width", "1h")]))


def test_a_page_of_the_version_before_leads_to_the_next() -> None:
    same = b'[0,null,[86400,7,31],"UTC",null,null,null,null,null,[],0,null,false]'
    assert load().fingerprint() == same


def test_pages_belong_to_the_query_but_not_to_their_size() -> None:
    assert load(("limit", "1")).fingerprint() == load(("limit", "2")).fingerprint()
    assert load(("user_ids", "a")).fingerprint() != load(("user_ids", "b")).fingerprint()


def test_days_begin_in_the_zone() -> None:
    assert str(load(("timezone", "Europe/Zurich")).zone) == "Europe/Zurich"
    assert str(load().zone) == "UTC"
