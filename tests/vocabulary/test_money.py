"""Money: exact in both directions, and shown as people write it."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vocabulary.money import NANO, dollars, nanousd_of, nearest_nanousd, show_usd, usd_of

AMOUNTS = st.integers(-(10**24), 10**24)


@pytest.mark.parametrize(
    ("nanousd", "text"),
    [
        (0, "$0.00"),
        (NANO, "$1.00"),
        (1_500_000_000, "$1.50"),
        (15_000, "$0.000015"),
        (1, "$0.000000001"),
        (-1_234_567_890_000_000, "-$1,234,567.89"),
    ],
)
def test_an_amount_is_shown_to_the_nano_dollar(nanousd: int, text: str) -> None:
    assert show_usd(nanousd) == text


@pytest.mark.parametrize(
    ("nanousd", "text"),
    [(0, "0"), (1_500_000, "0.0015"), (30 * NANO, "30"), (-1, "-0.000000001")],
)
def test_a_plain_number_of_dollars_has_no_exponent_and_no_trailing_zeros(
    nanousd: int, text: str
) -> None:
    assert dollars(nanousd) == text


@given(AMOUNTS)
def test_what_is_written_reads_as_the_same_amount(nanousd: int) -> None:
    assert nanousd_of(Decimal(show_usd(nanousd).replace("$", "").replace(",", ""))) == nanousd
    assert nanousd_of(Decimal(dollars(nanousd))) == nanousd
    assert usd_of(nanousd) * NANO == nanousd


@pytest.mark.parametrize(
    "usd",
    ["0.0000000001", "NaN", "sNaN", "Infinity", "1e-999999999", "1e999999999", f"1.{'0' * 50}1"],
)
def test_an_amount_that_is_not_whole_nano_dollars_is_rejected(usd: str) -> None:
    with pytest.raises(ValueError, match="nano-dollars"):
        nanousd_of(Decimal(usd))


@pytest.mark.parametrize(
    ("usd", "nanousd"), [("0.0000000014", 1), ("0.0000000016", 2), ("2", 2 * NANO)]
)
def test_an_amount_is_rounded_to_the_nearest_nano_dollar(usd: str, nanousd: int) -> None:
    assert nearest_nanousd(Decimal(usd)) == nanousd
