"""Idempotency keys: the first request under each key, and its response, in Redis.

A key identifies one request of one account for 24 hours; a retry gets the first response. Does not
depend on HTTP beyond a status and headers, and does not know completions.

    idempotency:<digest>  string  a line of JSON, `Note`, then the body if the response is stored

`idempotency_room` bounds how many keys and bytes an account has. Redis holds digests of the key and
the request, and the response itself.
"""

import hmac
import logging
import secrets
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

import orjson
from redis import Redis

from app.usage.redis.idempotency_room import KEYS_LIMIT, STORED_S, IdempotencyRoom, Place
from app.usage.redis.open_records import OpenRecords
from app.vocabulary.errors import (
    IdempotencyInProgress,
    IdempotencyKeyReused,
    InvalidRequest,
    RateLimited,
    ResponseNotStored,
    StreamUnavailable,
)

#: The longest that a claim lasts, in seconds. The process ends its claim with its request, and the
#: claim of a crashed process is void; this limit is for a live process that cannot reach Redis.
CLAIM_S = 3600

#: The largest body that is stored, in bytes before compression: some 18,000 chunks of a stream.
BODY_LIMIT = 4 * 1024 * 1024

#: The longest key, in characters.
KEY_LIMIT = 255

#: When to retry while the first request is still running, in seconds.
RETRY_AFTER_S = 2

#: Tells official clients not to retry: the same request would get the same response.
FINAL = {"x-should-retry": "false"}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A response as it was sent. `is_cut`: its stream ended in an error and was aborted."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes
    request_id: str
    is_cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What Redis stores of a key. `claim` distinguishes two claims of one key."""

    state: Literal["running", "kept", "not_kept"]
    request: str
    request_id: str
    owner: str
    claim: str
    status: int = 0
    headers: Sequence[tuple[str, str]] = ()
    is_cut: bool = False

    def encode(self, body: bytes = b"") -> bytes:
        """Return the note as a line of JSON, and the compressed body."""
        return orjson.dumps(asdict(self)) + b"\n" + (zlib.compress(body, 1) if body else b"")

    def response(self, encoded_body: bytes) -> StoredResponse:
        """Return the response of which this is the note."""
        headers = [(name, value) for name, value in self.headers]
        body = zlib.decompress(encoded_body) if encoded_body else b""
        return StoredResponse(self.status, headers, body, self.request_id, self.is_cut)


class IdempotencyKeys:
    """The keys of all accounts. `owner` returns the name under which this process is live."""

    def __init__(self, redis: "Redis", records: OpenRecords, owner: Callable[[], str]) -> None:
        self.room = IdempotencyRoom(redis)
        self._records = records
        self._owner = owner

    def claim(
        self, account_id: str, key: str, body: bytes, request_id: str
    ) -> "Claim | StoredResponse":
        """Prepare a claim, and attempt it once."""
        return self.attempt(self.prepare(account_id, key, body, request_id))

    def prepare(self, account_id: str, key: str, body: bytes, request_id: str) -> "Claim":
        """Return the claim that a request would have; nothing is asked of Redis.

        Raises: InvalidRequest if the key is invalid.
        """
        identity = _identity(account_id, key)
        note = Note(
            state="running",
            request=hmac.digest(identity, body, "sha256").hex(),
            request_id=request_id,
            owner=self._owner(),
            claim=secrets.token_hex(8),
        )
        return Claim(self.room, Place.of(account_id, identity), note)

    def attempt(self, claim: "Claim") -> "Claim | StoredResponse":
        """Return the stored response to the request, or the claim if it is now in force.

        Raises: IdempotencyConflict; its subclass IdempotencyInProgress if another request has the
        key, so that a later attempt may succeed; RateLimited if the account has used too many keys;
        StreamUnavailable, since a key that cannot be looked up must not be ignored.
        """
        found = self.room.put_first(claim.place, claim.note.encode(), CLAIM_S)
        if found is None:
            return claim
        if isinstance(found, int):
            raise RateLimited(
                f"The account has used {KEYS_LIMIT} idempotency keys in the last 24 hours, which is"
                f" the limit. Send the request without a key, or try again in {found} s.",
                headers={"retry-after": str(found)},
            )
        first, _, stored_body = found.partition(b"\n")
        return self._replayed(claim, Note(**orjson.loads(first)), found, stored_body)

    def _replayed(
        self, claim: "Claim", first: Note, found: bytes, stored_body: bytes
    ) -> "Claim | StoredResponse":
        if first.request != claim.note.request:
            raise IdempotencyKeyReused(
                "This idempotency key was used for a request with another body. Make a new key for "
                "each request, and repeat it only with the same body.",
                headers=FINAL,
            )
        if first.state == "not_kept":
            raise ResponseNotStored(
                f"The response to {first.request_id}, which had this idempotency key and may have"
                " been charged, was not stored. Use another key to make a new request.",
                headers=FINAL,
            )
        if first.state == "kept":
            return first.response(stored_body)
        # It is running, or was running when its process crashed.
        is_running = first.owner in self._records.live_owners({first.owner})
        mine = claim.note.encode()
        if is_running or not self.room.replace(claim.place, found, mine, CLAIM_S):
            raise IdempotencyInProgress(
                "The first request with this idempotency key is still running.",
                headers={"retry-after": str(RETRY_AFTER_S)},
            )
        return claim


class Claim:
    """The right to respond to a key's request; it ends with the first of the three calls below.

    None of them raises: the caller gets its response even if Redis fails. Then retries get the
    error that the request is running, until the process exits or CLAIM_S ends.
    """

    def __init__(self, room: IdempotencyRoom, place: Place, note: Note) -> None:
        self.place = place
        self.name = place.name
        self.note = note
        self._room = room
        self._has_ended = False

    def store(
        self, status: int, headers: Sequence[tuple[str, str]], body: bytes, *, is_cut: bool = False
    ) -> None:
        """Store the response for retries; if it is too large or Redis is nearly full, only that."""
        if len(body) > BODY_LIMIT or not self._is_room():
            self.store_nothing()
            return
        note = replace(self.note, state="kept", status=status, headers=headers, is_cut=is_cut)
        self._end(note.encode(body), is_answer=True)

    def store_nothing(self) -> None:
        """Store that the request was made and may have cost something, but no response."""
        self._end(replace(self.note, state="not_kept").encode())

    def release(self) -> None:
        """Forget the request: it cost nothing and may be retried."""
        self._end(b"")

    def _is_room(self) -> bool:
        try:
            return self._room.takes_answers()
        except StreamUnavailable:  # it may be back by the time that the response is stored
            return True

    def _end(self, value: bytes, *, is_answer: bool = False) -> None:
        if self._has_ended:
            return
        self._has_ended = True
        old, request_id = self.note.encode(), self.note.request_id
        try:
            held = self._room.replace(self.place, old, value, STORED_S, is_answer=is_answer)
        except StreamUnavailable as exc:
            logger.warning("no response stored for %s: %s", request_id, exc)
        else:
            if not held:
                logger.warning("no response stored for %s: its claim was void", request_id)


def _identity(account_id: str, key: str) -> bytes:
    if not 0 < len(key) <= KEY_LIMIT or not all("!" <= character <= "~" for character in key):
        raise InvalidRequest(
            f"An idempotency key is 1 to {KEY_LIMIT} visible ASCII characters.",
            param="idempotency-key",
        )
    return f"{account_id}\0{key}".encode()
