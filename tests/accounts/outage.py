"""A ledger that can be taken away, and clocks that a test sets."""

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import event

from app.storage.sql.engine import create_engine


@dataclass
class Clocks:
    """The ring's clocks, set by the test."""

    monotonic_s: float = 1000.0
    wall_s: float = 1_780_000_000.0

    def pass_s(self, seconds: float) -> None:
        self.monotonic_s += seconds
        self.wall_s += seconds


class Ledger:
    """A real ledger that can be taken away, and counts how often it is asked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.engine = create_engine(f"sqlite:///{path}")
        self.questions = 0
        event.listen(self.engine, "before_cursor_execute", self._count)

    def _count(self, *arguments: object) -> None:
        self.questions += str(arguments[2]).startswith("SELECT")

    def take_away(self) -> None:
        self.engine.dispose()
        self.path.rename(self.path.with_suffix(".away"))
        self.path.mkdir()

    def bring_back(self) -> None:
        self.path.rmdir()
        self.path.with_suffix(".away").rename(self.path)
