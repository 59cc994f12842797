"""Limits as values: what an account or a key may use. Knows no SQL, no Redis and no HTTP.

Money is whole nano-dollars. Days and months are UTC's.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from app.vocabulary.money import NANO, show_usd

Kind = Literal["account", "key"]
Period = Literal["day", "month"]

PERIODS: tuple[str, ...] = get_args(Period)

#: Largest number of requests, tokens or streams: with it, a minute's tokens count exactly in the
#: floating-point numbers of Redis' scripts.
NUMBER_LIMIT = 10**9

#: Largest budget, 9 million dollars: nano-dollars above 2**53 would not be exact there.
BUDGET_LIMIT_NANOUSD = 9_000_000 * NANO


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one account or key may use; None is without limit.

    `streams` may be open at the same time. What is spent in a `period` beyond `soft_nanousd` is
    warned of; `budget_nanousd` is not exceeded.
    """

    kind: Kind
    subject_id: str
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    streams: int | None = None
    budget_nanousd: int | None = None
    soft_nanousd: int | None = None
    period: Period = "month"

    @property
    def subject(self) -> str:
        """Whose limits they are, for people."""
        return f"{self.kind} {self.subject_id}"

    @property
    def zone(self) -> str:
        """Whose days or months its budget is for, for people."""
        return f"{self.period}s are UTC's"

    @property
    def is_any(self) -> bool:
        """Whether anything is limited."""
        numbers = (self.requests_per_minute, self.tokens_per_minute, self.streams)
        return any(limit is not None for limit in numbers) or self.has_budget

    @property
    def has_budget(self) -> bool:
        """Whether money is counted."""
        return self.budget_nanousd is not None or self.soft_nanousd is not None

    @property
    def problem(self) -> str | None:
        """What makes no sense about them, as a sentence; None where nothing does."""
        for number in (self.requests_per_minute, self.tokens_per_minute, self.streams):
            if number is not None and not 1 <= number <= NUMBER_LIMIT:
                return f"A limit is 1 to {NUMBER_LIMIT:,}: {number:,} is not."
        for nanousd in (self.budget_nanousd, self.soft_nanousd):
            if nanousd is not None and not 0 <= nanousd <= BUDGET_LIMIT_NANOUSD:
                most = show_usd(BUDGET_LIMIT_NANOUSD)
                return f"A budget is $0 to {most}: {show_usd(nanousd)} is not."
        if self.budget_nanousd is not None and (self.soft_nanousd or 0) > self.budget_nanousd:
            return "The soft bound of a budget cannot be above it."
        return None


def period_start(period: Period, at_ms: int) -> datetime:
    """Return when the day or month began that holds a time in Unix milliseconds."""
    midnight = datetime.fromtimestamp(at_ms // 1000, UTC).replace(hour=0, minute=0, second=0)
    return midnight if period == "day" else midnight.replace(day=1)


def period_end(period: Period, start: datetime) -> datetime:
    """Return when the next day or month begins."""
    if period == "day":
        return start + timedelta(days=1)
    return (start + timedelta(days=31)).replace(day=1)
