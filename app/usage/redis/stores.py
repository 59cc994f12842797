"""Stores: everything about usage that is in one Redis, over one group commit."""

from dataclasses import dataclass

from redis import Redis

from app.storage.redis.group_commit import GroupCommit
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.processes import Processes
from app.usage.redis.stream import EventStream


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores of one process; `commit` makes their writes share round trips."""

    redis: "Redis"
    commit: GroupCommit
    events: EventStream
    records: OpenRecords
    processes: Processes

    @classmethod
    def of(cls, redis: "Redis", *, serves_if_full: bool = True) -> "Stores":
        """Return the stores in a Redis.

        `serves_if_full`: a Redis that has reached its memory limit opens requests, whose events go
        to the spool; else it opens none, and takes the events of those in flight.
        """
        commit = GroupCommit(redis)
        return cls(
            redis,
            commit,
            EventStream(redis, commit, publishes_if_full=not serves_if_full),
            OpenRecords(redis, commit, opens_if_full=serves_if_full),
            Processes(redis),
        )

    def close(self) -> None:
        """Close the connections, when nothing uses them; a later use opens others."""
        self.commit.close()
        self.redis.close()
