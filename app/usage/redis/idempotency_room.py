"""The room that idempotency keys have in Redis: for each account so many keys, so many bytes.

So one account takes no other's room, nor that of usage events. Does not know what a value contains,
except that it begins with a note of its state.

    idempotency:<digest>                string      what is known of a key
    idempotency-room:<account>:keys     sorted set  key -> when it is forgotten, in Unix s
    idempotency-room:<account>:answers  sorted set  digest and bytes of a response -> the same
    idempotency-room:<account>:bytes    string      the sum of these bytes
"""

import hashlib
from dataclasses import dataclass
from typing import Any

from redis import Redis

from app.storage.redis.errors import redis_errors
from app.storage.redis.memory import MemoryShare
from app.storage.redis.scripts import EVEN_IF_FULL, Argument, Script, read_lua, run

#: How long a response is stored, in seconds.
STORED_S = 24 * 3600

#: The most keys of an account at a time. Each takes about 0.4 KB of Redis.
KEYS_LIMIT = 100_000

#: The most bytes of an account's stored responses, compressed. The oldest give way to new ones.
BYTES_LIMIT = 64 * 1024 * 1024

#: The share of Redis's memory limit above which no response is stored: the rest is for events.
ANSWERS_SHARE = 0.75

_LIMITS = {"STORED_S": STORED_S, "KEYS_LIMIT": KEYS_LIMIT, "BYTES_LIMIT": BYTES_LIMIT}


def _script(name: str) -> Script:
    return Script(EVEN_IF_FULL + read_lua(__package__, "idempotency_room", name, **_LIMITS))


#: A full Redis runs them, too: the keys of an account are bounded, and no response is stored then.
CLAIM = _script("idempotency_claim")
REPLACE = _script("idempotency_replace")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a key is: its own name in Redis, and those of its account's room."""

    digest: str
    account: str

    @classmethod
    def of(cls, account_id: str, identity: bytes) -> "Place":
        """Return the place of the key that `identity` distinguishes from all others."""
        account = hashlib.sha256(account_id.encode()).hexdigest()[:32]
        return cls(hashlib.sha256(identity).hexdigest(), account)

    @property
    def name(self) -> str:
        """The name of what is known of the key."""
        return f"idempotency:{self.digest}"

    @property
    def member(self) -> bytes:
        """The key's name in its account's sorted set: a part of the digest, to save memory."""
        return bytes.fromhex(self.digest[:32])

    def room(self) -> list[str]:
        """Return the names of the account's keys, its answers, and the sum of their bytes."""
        return [f"idempotency-room:{self.account}:{what}" for what in ("keys", "answers", "bytes")]


class IdempotencyRoom:
    """Reads and writes what is known of keys; every method raises StreamUnavailable."""

    def __init__(self, redis: "Redis") -> None:
        self._redis = redis
        self._memory = MemoryShare(redis)

    @redis_errors()
    def put_first(self, place: Place, value: bytes, lasts_s: int) -> bytes | int | None:
        """Store a value unless the key is known; return what is known of it.

        An int is the number of seconds until the account may use another key.
        """
        args: list[Argument] = [value, lasts_s, place.member]
        found: Any = run(self._redis, CLAIM, [place.name, place.room()[0]], args)
        return found if isinstance(found, bytes | int) else None

    @redis_errors()
    def replace(
        self, place: Place, old: bytes, new: bytes, lasts_s: int, *, is_answer: bool = False
    ) -> bool:
        """Replace a value if it is `old`; an empty `new` deletes it. Return whether it was."""
        args: list[Argument] = [
            old,
            new,
            lasts_s,
            place.member,
            place.digest,
            len(new) if is_answer else 0,
        ]
        if is_answer:
            self._memory.add(len(new))
        return bool(run(self._redis, REPLACE, [place.name, *place.room()], args))

    def takes_answers(self) -> bool:
        """Return whether Redis has room for responses."""
        return self._memory.get() < ANSWERS_SHARE
