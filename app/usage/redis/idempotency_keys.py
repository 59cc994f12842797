"""Idempotency keys: the first request under each key, and its response, in Redis.

A key identifies one request of one account for 24 hours; a retry gets the first response. Does not
depend on HTTP beyond a status and headers, and does not know completions.

    idempotency:<digest>  string  a line of JSON, `Note`, then the body if the response is stored

Redis holds digests of the key and the request, and the response itself.
"""

import hashlib
import hmac
import logging
import secrets
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

import orjson
from redis import Redis

from app.storage.redis.errors import redis_errors
from app.storage.redis.scripts import Script, read_lua, run
from app.usage.redis.open_records import OpenRecords
from app.vocabulary.errors import (
    IdempotencyInProgress,
    IdempotencyKeyReused,
    InvalidRequest,
    ResponseNotStored,
    StreamUnavailable,
)

#: How long a response is stored, in seconds.
STORED_S = 24 * 3600

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

REPLACE = Script(read_lua(__package__, "replace_note"))

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
        self._redis = redis
        self._records = records
        self._owner = owner

    def claim(
        self, account_id: str, key: str, body: bytes, request_id: str
    ) -> "Claim | StoredResponse":
        """Return the stored response to this request, or the claim to make one.

        Raises: InvalidRequest if the key is invalid; IdempotencyConflict; StreamUnavailable, since
        a key that cannot be looked up must not be ignored.
        """
        identity = _identity(account_id, key)
        note = Note(
            state="running",
            request=hmac.digest(identity, body, "sha256").hex(),
            request_id=request_id,
            owner=self._owner(),
            claim=secrets.token_hex(8),
        )
        claim = Claim(self, f"idempotency:{hashlib.sha256(identity).hexdigest()}", note)
        found = self._put_first(claim)
        if found is None:
            return claim
        first, _, stored_body = found.partition(b"\n")
        return self._replayed(claim, Note(**orjson.loads(first)), found, stored_body)

    def _replayed(
        self, claim: "Claim", first: Note, found: bytes, stored_body: bytes
    ) -> "Claim | StoredResponse":
        if first.request != claim.note.request:
            raise IdempotencyKeyReused(
                "This idempotency key was used for a request with another body.", headers=FINAL
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
        if is_running or not self.replace(claim.name, found, claim.note.encode(), CLAIM_S):
            raise IdempotencyInProgress(
                "The first request with this idempotency key is still running.",
                headers={"retry-after": str(RETRY_AFTER_S)},
            )
        return claim

    @redis_errors()
    def _put_first(self, claim: "Claim") -> bytes | None:
        """Store the claim unless the key is known; return what is known of it."""
        found = self._redis.set(claim.name, claim.note.encode(), nx=True, get=True, ex=CLAIM_S)
        return found if isinstance(found, bytes) else None

    @redis_errors()
    def replace(self, name: str, old: bytes, new: bytes, lasts_s: int) -> bool:
        """Replace a value if it is `old`; an empty `new` deletes it. Return whether it was."""
        return bool(run(self._redis, REPLACE, [name], [old, new, lasts_s]))


class Claim:
    """The right to respond to a key's request; it ends with the first of the three calls below.

    None of them raises: the caller gets its response even if Redis fails. Then retries get the
    error that the request is running, until the process exits or CLAIM_S ends.
    """

    def __init__(self, keys: IdempotencyKeys, name: str, note: Note) -> None:
        self.name = name
        self.note = note
        self._keys = keys
        self._has_ended = False

    def store(
        self, status: int, headers: Sequence[tuple[str, str]], body: bytes, *, is_cut: bool = False
    ) -> None:
        """Store the response for retries."""
        if len(body) > BODY_LIMIT:
            self.store_nothing()
            return
        note = replace(self.note, state="kept", status=status, headers=headers, is_cut=is_cut)
        self._end(note.encode(body))

    def store_nothing(self) -> None:
        """Store that the request was made and may have cost something, but no response."""
        self._end(replace(self.note, state="not_kept").encode())

    def release(self) -> None:
        """Forget the request: it cost nothing and may be retried."""
        self._end(b"")

    def _end(self, value: bytes) -> None:
        if self._has_ended:
            return
        self._has_ended = True
        try:
            held = self._keys.replace(self.name, self.note.encode(), value, STORED_S)
        except StreamUnavailable as exc:
            logger.warning("no response stored for %s: %s", self.note.request_id, exc)
        else:
            if not held:
                logger.warning(
                    "no response stored for %s: its claim was void", self.note.request_id
                )


def _identity(account_id: str, key: str) -> bytes:
    if not 0 < len(key) <= KEY_LIMIT or not all("!" <= character <= "~" for character in key):
        raise InvalidRequest(
            f"An idempotency key is 1 to {KEY_LIMIT} visible ASCII characters.",
            param="idempotency-key",
        )
    return f"{account_id}\0{key}".encode()
