"""API keys as values: what is stored of a key, and the format of its secret. No I/O."""

import hashlib
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace

from app.accounts.errors import AccountsError
from app.vocabulary.limits import Limits

SCOPES: tuple[str, ...] = ("completions", "usage", "admin")
NAME_LIMIT = 200

#: 9999-12-31, UTC: later times are in the year 10000 in some time zones, which dates cannot
#: represent.
EXPIRY_LIMIT_MS = 253_402_214_400_000

_SECRET = re.compile(rb"tg_[A-Za-z0-9_-]{43}")
_SECRET_BYTES = 32

#: How many characters of a secret are stored in clear, so that a leaked key is found by its
#: beginning: `tg_` and eight of its 43 random characters. The other 35 hold 208 random bits.
PREFIX_LENGTH = 11

#: A key within a text; its first group is what is stored of it in clear.
_WITHIN = re.compile(r"(tg_[\w-]{8})[\w-]{35}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key without its secret. Times are in Unix milliseconds; None means never.

    `limits` are those of the key and of its accounts; subjects without limits are left out.
    `last_used_at_ms` may be two minutes behind. `secret_prefix` is the beginning of the secret;
    None if it is not known yet. `retired_at_ms` is when a rotation gave the key its expiry.
    """

    key_id: str
    name: str | None
    account_ids: tuple[str, ...]
    scopes: frozenset[str]
    created_at_ms: int
    expires_at_ms: int | None
    revoked_at_ms: int | None
    limits: tuple[Limits, ...] = ()
    disabled_account_ids: frozenset[str] = frozenset()
    last_used_at_ms: int | None = None
    secret_prefix: str | None = None
    retired_at_ms: int | None = None

    @property
    def is_disabled(self) -> bool:
        """Whether all of its accounts are disabled; a key without accounts is not."""
        return bool(self.account_ids) and self.disabled_account_ids.issuperset(self.account_ids)

    @property
    def enabled_account_ids(self) -> tuple[str, ...]:
        """Its accounts that are not disabled."""
        return tuple(it for it in self.account_ids if it not in self.disabled_account_ids)

    def state(self, now_ms: int) -> str:
        """Return `revoked`, `expired`, `disabled` (with all of its accounts) or `active`."""
        if self.revoked_at_ms is not None:
            return "revoked"
        if not self.is_live(now_ms):
            return "expired"
        return "disabled" if self.is_disabled else "active"

    def is_live(self, now_ms: int) -> bool:
        """Return whether the key is neither revoked nor expired at `now_ms`."""
        expired = self.expires_at_ms is not None and self.expires_at_ms <= now_ms
        return self.revoked_at_ms is None and not expired


def new_key_id() -> str:
    """Return a random ID, which is unrelated to the key's secret."""
    return f"key_{secrets.token_hex(10)}"


def new_secret() -> str:
    """Return a new secret of 256 random bits."""
    return f"tg_{secrets.token_urlsafe(_SECRET_BYTES)}"


def secret_digest(secret: str | bytes) -> bytes | None:
    """Return the SHA-256 that a key is stored under; None if it does not have a secret's format.

    Keys are looked up by this digest only, so the time of a look-up reveals nothing of a secret.
    """
    # surrogatepass: a header may decode to any text, and must not raise UnicodeEncodeError.
    raw = secret.encode("utf-8", "surrogatepass") if isinstance(secret, str) else secret
    return hashlib.sha256(raw).digest() if _SECRET.fullmatch(raw) else None


def prefix_of(secret: str | bytes) -> str:
    """Return the beginning of a valid secret that is stored in clear."""
    text = secret if isinstance(secret, str) else secret.decode("ascii")
    return text[:PREFIX_LENGTH]


def hide_keys(text: str) -> str:
    """Return a text in which each key is cut to what is stored of it: somebody has pasted it."""
    return _WITHIN.sub(r"\1…", text)


def checked_text(field: str, text: str) -> str:
    """Return `text` if it is a valid name or ID.

    Raises: AccountsError, which names the field.
    """
    if not text.strip() or not text.isprintable() or len(text) > NAME_LIMIT:
        raise AccountsError(
            f"{text[:80]!r} is not a valid {field}. Use 1 to {NAME_LIMIT} printable characters."
        )
    return text


def check_expiry(expires_at_ms: int | None) -> None:
    """Check that an expiry, in Unix milliseconds, is at most EXPIRY_LIMIT_MS.

    Raises: AccountsError.
    """
    if expires_at_ms is not None and expires_at_ms > EXPIRY_LIMIT_MS:
        raise AccountsError("A key must expire by 9999-12-31. Leave the expiry out if it must not.")


def check_key(key: ApiKey) -> None:
    """Check that a new key has known scopes, an account and an expiry in the future.

    Raises: AccountsError.
    """
    unknown = key.scopes.difference(SCOPES)
    if unknown or not key.scopes:
        problem = f"Unknown scope {min(unknown)!r}." if unknown else "The key has no scope."
        raise AccountsError(f"{problem} Scopes: {', '.join(SCOPES)}.")
    if not key.account_ids and key.scopes != {"admin"}:
        raise AccountsError("A key needs an account, unless `admin` is its only scope.")
    if not key.is_live(key.created_at_ms):
        raise AccountsError("The key would already be expired. Choose a later expiry.")
    check_expiry(key.expires_at_ms)


def new_key(
    account_ids: Iterable[str],
    scopes: Iterable[str],
    name: str | None,
    expires_at_ms: int | None,
    now_ms: int,
) -> ApiKey:
    """Return a new key, created now.

    Raises: AccountsError when it is invalid.
    """
    key = ApiKey(
        key_id=new_key_id(),
        name=None if name is None else checked_text("name", name),
        account_ids=tuple(sorted(set(account_ids))),
        scopes=frozenset(scopes),
        created_at_ms=now_ms,
        expires_at_ms=expires_at_ms,
        revoked_at_ms=None,
    )
    check_key(key)
    return key


def successor(key: ApiKey, now_ms: int) -> ApiKey:
    """Return a copy of `key` with a new ID, created now; its lifetime, if any, starts again.

    It ends at EXPIRY_LIMIT_MS at the latest.
    """
    expires_at_ms = None
    if key.expires_at_ms is not None:
        ends_ms = now_ms + key.expires_at_ms - key.created_at_ms
        expires_at_ms = min(ends_ms, EXPIRY_LIMIT_MS)
    return replace(
        key,
        key_id=new_key_id(),
        created_at_ms=now_ms,
        expires_at_ms=expires_at_ms,
        last_used_at_ms=None,
    )
