"""Rounds the amounts of an invoice to cents, so that its lines add up to its total. No I/O.

The total is the exact sum, rounded half up. Each line gets its whole cents; the cents that are then
missing from the total go to the lines with the largest remainders.
"""

from collections.abc import Sequence

#: Nano-dollars per cent.
CENT = 10**7


def cents_of(nanousd: int) -> int:
    """Return an amount of at least 0 in cents, rounded half up."""
    return (nanousd + CENT // 2) // CENT


def apportioned(amounts_nanousd: Sequence[int]) -> list[int]:
    """Return the lines' amounts in cents, which add up to `cents_of` their exact sum.

    Amounts are at least 0. A line differs from its exact amount by less than a cent. Of lines with
    equal remainders, the first gets a cent first.
    """
    cents = [amount // CENT for amount in amounts_nanousd]
    left = cents_of(sum(amounts_nanousd)) - sum(cents)
    by_remainder = sorted(range(len(cents)), key=lambda n: -(amounts_nanousd[n] % CENT))
    for n in by_remainder[:left]:
        cents[n] += 1
    return cents


def show_cents(cents: int) -> str:
    """Return cents as dollars with two decimal places: `1234.50`."""
    return f"{cents // 100}.{cents % 100:02d}"
