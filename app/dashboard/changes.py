"""How a figure changed from the period before. No I/O."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from app.ledger.reports.query import UsageRow


@dataclass(frozen=True, slots=True)
class Change:
    """A figure's value in the period before, and the change since, in per cent of that value.

    `percent` is None if the value before was 0.
    """

    before: int
    percent: float | None

    @property
    def direction(self) -> Literal["up", "down", "same"]:
        """Which way the figure went."""
        if self.percent is None:
            return "up"
        rounded = round(self.percent, 1)
        return "up" if rounded > 0 else "down" if rounded < 0 else "same"

    @property
    def text(self) -> str:
        """The change as text: `+12 %`, `new` from 0, and `12 times` from a tenth or less."""
        if self.percent is None:
            return "new"
        if self.percent >= 1000:
            return f"{self.percent / 100 + 1:,.0f} times"
        digits = 0 if abs(self.percent) >= 10 else 1
        return f"{self.percent:+.{digits}f} %".replace("-", "\N{MINUS SIGN}")


def change(now: int, before: int) -> Change | None:
    """Return the change of a figure; None if it was and is 0."""
    if not now and not before:
        return None
    return Change(before, 100 * (now - before) / before if before else None)


def changes(now: UsageRow, before: UsageRow) -> Mapping[str, Change | None]:
    """Return the changes of a total's figures."""
    return {
        "requests": change(now.requests, before.requests),
        "failed": change(now.failed_requests, before.failed_requests),
        "prompt": change(now.usage.prompt_tokens, before.usage.prompt_tokens),
        "completion": change(now.usage.completion_tokens, before.usage.completion_tokens),
        "cost": change(now.cost_nanousd, before.cost_nanousd),
    }
