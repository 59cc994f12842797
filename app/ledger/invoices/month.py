"""A calendar month in a time zone. No I/O."""

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo


@dataclass(frozen=True, slots=True)
class Month:
    """A month that begins and ends at midnight by the clocks of `zone`."""

    year: int
    number: int
    zone: tzinfo = UTC

    def __str__(self) -> str:
        """Return it as `2026-11`."""
        return f"{self.year:04d}-{self.number:02d}"

    @property
    def start_s(self) -> int:
        """Its first moment, in Unix seconds."""
        return int(datetime(self.year, self.number, 1, tzinfo=self.zone).timestamp())

    @property
    def end_s(self) -> int:
        """The first moment after it, in Unix seconds."""
        year, number = divmod(self.year * 12 + self.number, 12)
        return int(datetime(year, number + 1, 1, tzinfo=self.zone).timestamp())
