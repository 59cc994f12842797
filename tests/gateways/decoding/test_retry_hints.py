"""The headers that tell a client when, and whether, to retry."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gateways.decoding.retry_hints import retry_after, should_retry

DATE = "Wed, 21 Oct 2026 07:28:00 GMT"

RETRIES: list[tuple[dict[str, str], dict[str, str]]] = [
    ({}, {}),
    ({"retry-after": "7"}, {"retry-after": "7"}),
    ({"retry-after": "0"}, {"retry-after": "0"}),
    ({"retry-after": " 60 "}, {"retry-after": "60"}),
    ({"retry-after": DATE}, {"retry-after": DATE}),
    ({"retry-after-ms": "1500"}, {"retry-after-ms": "1500", "retry-after": "2"}),
    ({"retry-after-ms": "1"}, {"retry-after-ms": "1", "retry-after": "1"}),
    ({"retry-after-ms": "15", "retry-after": "9"}, {"retry-after-ms": "15", "retry-after": "9"}),
    ({"retry-after": "1.5"}, {"retry-after": "2", "retry-after-ms": "1500"}),
    ({"retry-after": "0.02"}, {"retry-after": "1", "retry-after-ms": "20"}),
    ({"retry-after": "3.000"}, {"retry-after": "3", "retry-after-ms": "3000"}),
    ({"retry-after-ms": "1500.25"}, {"retry-after-ms": "1501", "retry-after": "2"}),
    ({"retry-after": "1.5", "retry-after-ms": "9"}, {"retry-after": "2", "retry-after-ms": "9"}),
    ({"retry-after": "21 Oct 2026 09:28:00 +0200"}, {"retry-after": DATE}),
    ({"retry-after": f"{DATE}\r\nx-evil: 1"}, {"retry-after": DATE}),
    ({"retry-after": "soon", "retry-after-ms": "5"}, {"retry-after": "1", "retry-after-ms": "5"}),
    *[
        ({"retry-after": garbage, "retry-after-ms": garbage}, {})
        for garbage in (
            "", "soon", "-1", "1.5s", ".5", "1.",
            "1e3", "0x10", "\u0667", "1" * 12, "7 s", "inf", "nan",
            "7\r\nx: y",
            "Wed, 21 Oct", "Wed, 21 Oct 2026 07:28:00", "Wed, 99 Oct 2026 07:28:00 GMT",
            "Wed, 21 Oct 99999999999999999999 07:28:00 GMT",
            "21 Oct 2026 99999999999999999999:28:00 GMT",
            "Wed, 21 Oct 2026 07:28:00 +99999999999", "31 Dec 9999 23:00:00 -2300", ", , ,",
        )
    ],
]  # fmt: skip


@pytest.mark.parametrize(("headers", "passed"), RETRIES, ids=str)
def test_when_to_try_again_is_passed_on_and_garbage_is_not(
    headers: dict[str, str], passed: dict[str, str]
) -> None:
    assert retry_after(headers) == passed


@given(st.text(st.characters(max_codepoint=255), max_size=40))
def test_any_header_is_passed_on_or_left_out(value: str) -> None:
    passed = retry_after({"retry-after": value, "retry-after-ms": value})
    assert all(text.isascii() and text.isprintable() for text in passed.values())


@pytest.mark.parametrize("value", ["true", "false", " TRUE ", "False"])
def test_x_should_retry_is_passed_on_in_lower_case(value: str) -> None:
    assert should_retry({"x-should-retry": value}) == {"x-should-retry": value.strip().lower()}


@pytest.mark.parametrize("value", ["", "yes", "1", "false\r\nx: y"])
def test_any_other_x_should_retry_is_left_out(value: str) -> None:
    assert should_retry({"x-should-retry": value}) == {}
