"""The limits of an account or of a key, as values. Does not depend on SQL, Redis or HTTP.

Money is in whole nano-dollars. Days and months are in UTC.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from app.vocabulary.money import NANO, show_usd

Kind = Literal["account", "key"]
Period = Literal["day", "month"]

PERIODS: tuple[str, ...] = get_args(Period)

#: Largest limit of requests, tokens or streams. Up to it, the floating-point numbers of Redis's
#: scripts count a minute's tokens exactly.
NUMBER_LIMIT = 10**9

#: Largest budget, 9 million dollars: nano-dollars above 2**53 would not be exact there.
BUDGET_LIMIT_NANOUSD = 9_000_000 * NANO


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one account or key; None means no limit.

    `streams` limits open streams. Per `period`, requests beyond `soft_nanousd` get a warning, and
    requests that would exceed `budget_nanousd` are rejected.
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
        """The account or key that is limited, for messages."""
        return f"{self.kind} {self.subject_id}"

    @property
    def zone(self) -> str:
        """The time zone of the budget's period, for messages."""
        return f"{self.period}s are UTC's"

    @property
    def is_any(self) -> bool:
        """Whether any limit is set."""
        numbers = (self.requests_per_minute, self.tokens_per_minute, self.streams)
        return any(limit is not None for limit in numbers) or self.has_budget

    @property
    def has_budget(self) -> bool:
        """Whether a budget or a soft bound is set."""
        return self.budget_nanousd is not None or self.soft_nanousd is not None

    @property
    def problem(self) -> str | None:
        """The first invalid value, as a sentence; None if all are valid."""
        numbers = {
            "requests per minute": self.requests_per_minute,
            "tokens per minute": self.tokens_per_minute,
            "concurrent streams": self.streams,
        }
        for name, number in numbers.items():
            if number is not None and not 1 <= number <= NUMBER_LIMIT:
                return f"The limit of {name} must be 1 to {NUMBER_LIMIT:,}, not {number:,}."
        for nanousd in (self.budget_nanousd, self.soft_nanousd):
            if nanousd is not None and not 0 <= nanousd <= BUDGET_LIMIT_NANOUSD:
                most = show_usd(BUDGET_LIMIT_NANOUSD)
                return f"A budget must be $0 to {most}, not {show_usd(nanousd)}."
        if self.budget_nanousd is not None and (self.soft_nanousd or 0) > self.budget_nanousd:
            return "The soft bound must not be above the budget."
        return None


def period_start(period: Period, at_ms: int) -> datetime:
    """Return the start of the day or month that contains a time in Unix milliseconds."""
    midnight = datetime.fromtimestamp(at_ms // 1000, UTC).replace(hour=0, minute=0, second=0)
    return midnight if period == "day" else midnight.replace(day=1)


def period_end(period: Period, start: datetime) -> datetime:
    """Return the start of the next day or month."""
    if period == "day":
        return start + timedelta(days=1)
    return (start + timedelta(days=31)).replace(day=1)
