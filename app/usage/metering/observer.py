"""Observer: receives the milestones of a request as it is counted; metrics and the log are two."""

from typing import Protocol

from app.usage.messages.event import UsageEvent


class Observer(Protocol):
    """Receives the milestones of requests. Its methods may not raise."""

    def opened(self, *, stream: bool) -> None:
        """A request was admitted."""
        ...

    def recorded(self, event: UsageEvent) -> None:
        """An admitted request has finished."""
        ...

    def surplus(self, vendor: str, choices: int) -> None:
        """A vendor sent choices that were not requested, or that belong to no prompt."""
        ...

    def unknown_reason(self, vendor: str, word: str) -> None:
        """A vendor ended a choice with an unknown finish reason."""
        ...


class NullObserver:
    """Ignores everything."""

    def opened(self, *, stream: bool) -> None: ...

    def recorded(self, event: UsageEvent) -> None: ...

    def surplus(self, vendor: str, choices: int) -> None: ...

    def unknown_reason(self, vendor: str, word: str) -> None: ...


UNOBSERVED = NullObserver()
