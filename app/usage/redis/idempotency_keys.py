"""Idempotency keys: what a caller asked for under a key, and what it was answered, in Redis.

A key stands for one request of one account for a day: whoever repeats it gets the first answer.
Knows no HTTP beyond a status and headers, and no completions.

    idempotency:<digest>  string  a line of JSON, `Note`; when the answer is kept, its body follows

Neither the key nor the request is in Redis, only digests of them; the answer is.
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
from app.usage.redis.open_records import OpenRecords
from app.vocabulary.errors import (
    IdempotencyInProgress,
    IdempotencyKeyReused,
    InvalidRequest,
    ResponseNotStored,
    StreamUnavailable,
)

#: How long an answer is kept, in seconds.
KEPT_S = 24 * 3600

#: How long a request may take, at most, in seconds. Its process ends its claim, and when that
#: process dies the claim is void; this is for a process that lives and cannot reach Redis.
CLAIM_S = 3600

#: The largest body that is kept, in bytes before compression: some 18,000 chunks of a stream.
BODY_LIMIT = 4 * 1024 * 1024

#: The longest key, in characters.
KEY_LIMIT = 255

#: When to look again at a request that is being answered, in seconds.
RETRY_AFTER_S = 2

#: What official clients obey: the same request will get the same answer.
FINAL = {"x-should-retry": "false"}

#: Replace a value if it is still the one that was seen; nothing in its place deletes it.
REPLACE = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '' then return redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return 1
"""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """An answer as it was given. `is_cut`: its stream ended in an error and a cut connection."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes
    request_id: str
    is_cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What Redis says of a key. `claim` tells two claims of one key apart."""

    state: Literal["running", "kept", "not_kept"]
    request: str
    request_id: str
    owner: str
    claim: str
    status: int = 0
    headers: Sequence[tuple[str, str]] = ()
    is_cut: bool = False

    def encode(self, body: bytes = b"") -> bytes:
        """Return the note, and the body that it speaks of."""
        return orjson.dumps(asdict(self)) + b"\n" + (zlib.compress(body, 1) if body else b"")

    def answer(self, encoded_body: bytes) -> StoredResponse:
        """Return the answer that was kept."""
        headers = [(name, value) for name, value in self.headers]
        body = zlib.decompress(encoded_body) if encoded_body else b""
        return StoredResponse(self.status, headers, body, self.request_id, self.is_cut)


class IdempotencyKeys:
    """The keys of all accounts. `owner` names this process; it is known to be alive by that."""

    def __init__(self, redis: "Redis", records: OpenRecords, owner: Callable[[], str]) -> None:
        self._redis = redis
        self._records = records
        self._owner = owner
        self._replace = redis.register_script(REPLACE)

    def claim(
        self, account_id: str, key: str, body: bytes, request_id: str
    ) -> "Claim | StoredResponse":
        """Return what was answered to this request before, or else the claim to answer it.

        Raises: InvalidRequest when the key is of no use; IdempotencyConflict; StreamUnavailable,
        since a key that is not looked up would be ignored.
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
        first, _, kept_body = found.partition(b"\n")
        return self._repeated(claim, Note(**orjson.loads(first)), found, kept_body)

    def _repeated(
        self, claim: "Claim", first: Note, found: bytes, kept_body: bytes
    ) -> "Claim | StoredResponse":
        if first.request != claim.note.request:
            raise IdempotencyKeyReused(
                "This idempotency key stands for a request with another body.", headers=FINAL
            )
        if first.state == "not_kept":
            raise ResponseNotStored(
                f"The answer to {first.request_id}, which had this idempotency key and may have"
                " been charged, was not kept. Use another key to ask again.",
                headers=FINAL,
            )
        if first.state == "kept":
            return first.answer(kept_body)
        # It is running, or it was when its process died.
        is_running = first.owner in self._records.live_owners({first.owner})
        if is_running or not self.replace(claim.name, found, claim.note.encode(), CLAIM_S):
            raise IdempotencyInProgress(
                "The first request with this idempotency key is being answered.",
                headers={"retry-after": str(RETRY_AFTER_S)},
            )
        return claim

    @redis_errors()
    def _put_first(self, claim: "Claim") -> bytes | None:
        """Write the claim down unless the key is known; return what is known of it."""
        found = self._redis.set(claim.name, claim.note.encode(), nx=True, get=True, ex=CLAIM_S)
        return found if isinstance(found, bytes) else None

    @redis_errors()
    def replace(self, name: str, old: bytes, new: bytes, lasts_s: int) -> bool:
        """Put a value in the place of the one that was seen; nothing deletes it."""
        return bool(self._replace(keys=[name], args=[old, new, lasts_s]))


class Claim:
    """The right to answer a key's request; it ends with the first of three calls.

    None of them raises: the caller is answered whether or not Redis takes note of it. Where it
    does not, repeats are told that the request is running, until the process or CLAIM_S ends.
    """

    def __init__(self, keys: IdempotencyKeys, name: str, note: Note) -> None:
        self.name = name
        self.note = note
        self._keys = keys
        self._has_ended = False

    def keep(
        self, status: int, headers: Sequence[tuple[str, str]], body: bytes, *, is_cut: bool = False
    ) -> None:
        """Keep the answer for whoever repeats the request."""
        if len(body) > BODY_LIMIT:
            self.store_nothing()
            return
        note = replace(self.note, state="kept", status=status, headers=headers, is_cut=is_cut)
        self._end(note.encode(body))

    def store_nothing(self) -> None:
        """Keep that the request was made and may have cost something, but no answer."""
        self._end(replace(self.note, state="not_kept").encode())

    def release(self) -> None:
        """Forget the request: it cost nothing, and may be repeated."""
        self._end(b"")

    def _end(self, value: bytes) -> None:
        if self._has_ended:
            return
        self._has_ended = True
        try:
            held = self._keys.replace(self.name, self.note.encode(), value, KEPT_S)
        except StreamUnavailable as exc:
            logger.warning("no answer kept of %s: %s", self.note.request_id, exc)
        else:
            if not held:
                logger.warning("no answer kept of %s: its claim was void", self.note.request_id)


def _identity(account_id: str, key: str) -> bytes:
    if not 0 < len(key) <= KEY_LIMIT or not all("!" <= character <= "~" for character in key):
        raise InvalidRequest(
            f"An idempotency key is 1 to {KEY_LIMIT} visible ASCII characters.",
            param="idempotency-key",
        )
    return f"{account_id}\0{key}".encode()
