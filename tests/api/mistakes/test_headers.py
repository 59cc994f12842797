"""Headers that are misspelt, so that they would be ignored."""

import pytest

from app.api.mistakes.headers import check_headers
from app.vocabulary.errors import UnknownParameter

GOOD = {
    "REQUEST_METHOD": "POST",
    "HTTP_IDEMPOTENCY_KEY": "k",
    "HTTP_X_TOLLGATE_INCLUDE_COST": "true",
    "HTTP_X_REQUEST_ID": "r",
    "IDEMPOTENT_SERVER": "a server's own variable, not a header",
}


def test_the_headers_that_there_are_pass() -> None:
    check_headers(GOOD)
    check_headers({})


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("HTTP_X_TOLLGATE_INCLUDE_COSTS", "`x-tollgate-include-cost`?"),
        ("HTTP_X_TOLLGATE_ZZZ", None),
        ("HTTP_X_IDEMPOTENCY_KEY", "`idempotency-key`?"),
        ("HTTP_IDEMPOTENT_KEY", "`idempotency-key`?"),
    ],
)
def test_a_misspelt_one_is_named_with_the_one_that_was_meant(name: str, meant: str | None) -> None:
    with pytest.raises(UnknownParameter) as failed:
        check_headers({**GOOD, name: "x"})
    assert failed.value.param == name.removeprefix("HTTP_").replace("_", "-").lower()
    assert (meant or "header") in failed.value.message
    assert ("Did you mean" in failed.value.message) == (meant is not None)
