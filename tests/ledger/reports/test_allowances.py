"""Which budgets are over, near, or neither."""

import pytest

from app.ledger.reports.allowances import Allowance, by_share
from app.vocabulary.limits import Limits


def allowance(spent: int, hard: int | None, soft: int | None = None) -> Allowance:
    return Allowance(
        Limits(kind="account", subject_id="a", budget_nanousd=hard, soft_nanousd=soft), spent
    )


@pytest.mark.parametrize(
    ("spent", "hard", "soft", "state"),
    [
        (0, 100, None, "ok"),
        (79, 100, None, "ok"),
        (80, 100, None, "near"),
        (50, 100, 50, "near"),
        (100, 100, None, "over"),
        (0, 0, None, "over"),
        (100, None, 100, "over"),
        (5, None, None, "ok"),
    ],
)
def test_a_budget_is_near_from_its_soft_bound_or_80_per_cent(
    spent: int, hard: int | None, soft: int | None, state: str
) -> None:
    assert allowance(spent, hard, soft).state == state


def test_the_fullest_budget_comes_first_and_limits_without_one_not_at_all() -> None:
    shown = by_share([allowance(1, 100), allowance(5, None), allowance(9, 10)])
    assert [it.spent_nanousd for it in shown] == [9, 1]
