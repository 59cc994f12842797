"""The scripts that count limits on a real Valkey, and what they leave there."""

import dataclasses
from typing import Any

from redis import Redis

from app.admission.reservations import (
    Charge,
    Check,
    LimitState,
    Reservations,
)
from app.storage.redis.group_commit import GroupCommit
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stream import EventStream
from tests.support.events import opening, usage_event

#: The end of a budget's period, in Unix seconds: 2100.
ENDS_S = 4_102_444_800


#: Flows back so slowly that a test sees nothing of it: a unit a millisecond.
SLOW = 1


def requests(limit: int = SLOW) -> Check:
    return Check(kind="requests", key="limits:x:rpm", limit=limit, amount=1)


def tokens(amount: int, limit: int = 1000) -> Check:
    return Check(kind="tokens", key="limits:x:tpm", limit=limit, amount=amount)


def streams(limit: int) -> Check:
    return Check(kind="streams", key="limits:x:streams", limit=limit, amount=1)


def budget(amount: int, limit: int = 100, **changes: Any) -> Check:
    check = Check(kind="budget", key="limits:x:day", limit=limit, amount=amount, ends_s=ENDS_S)
    return dataclasses.replace(check, **changes)


@dataclasses.dataclass
class Gate:
    """The scripts, and what they leave in Redis."""

    redis: "Redis"

    def __post_init__(self) -> None:
        self.reservations = Reservations(GroupCommit(self.redis))
        self.stream = EventStream(self.redis)
        self.records = OpenRecords(self.redis)

    def admit(self, event_id: str, *checks: Check) -> tuple[bool, list[LimitState]]:
        """Ask for admission."""
        number, states = self.reservations.admit(opening(event_id), checks)
        return number > 0, states

    def end(self, event_id: str, tokens: int = 0, cost_nanousd: int = 0) -> None:
        """Publish the event of a request that used this."""
        self.stream.publish(usage_event(event_id=event_id), Charge(tokens, cost_nanousd))

    def budget(self, key: str = "limits:x:day") -> dict[str, int]:
        """Return what is counted of a budget."""
        found: Any = self.redis.hgetall(key)
        return {name.decode(): int(number) for name, number in found.items()}

    def used(self) -> int:
        """Return the units of tokens that were used when they were last counted."""
        found: Any = self.redis.get("limits:x:tpm") or b"0 0 0"
        return int(found.split()[0])
