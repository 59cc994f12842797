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

    commit: GroupCommit
    events: EventStream
    records: OpenRecords
    processes: Processes

    @classmethod
    def of(cls, redis: "Redis") -> "Stores":
        """Return the stores in a Redis."""
        commit = GroupCommit(redis)
        return cls(commit, EventStream(redis, commit), OpenRecords(redis, commit), Processes(redis))
