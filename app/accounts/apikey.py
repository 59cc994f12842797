"""API keys as values: what is known of a key, and what its secret looks like.

Knows no SQL and no HTTP. Errors are sentences for the person at the command line.
"""

import hashlib
import re
import secrets
from dataclasses import dataclass, replace

from app.vocabulary.limits import Limits

SCOPES: tuple[str, ...] = ("completions", "usage", "admin")
NAME_LIMIT = 200

_SECRET = re.compile(rb"tg_[A-Za-z0-9_-]{43}")
_SECRET_BYTES = 32


class AccountsError(ValueError):
    """What was asked for cannot be done; the message says why, for a person."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is known of a key: all but the key. Times are Unix milliseconds, UTC; None is never.

    `limits` are its own and those of its accounts, where there are any.
    """

    key_id: str
    name: str | None
    account_ids: tuple[str, ...]
    scopes: frozenset[str]
    created_at_ms: int
    expires_at_ms: int | None
    revoked_at_ms: int | None
    limits: tuple[Limits, ...] = ()

    def is_live(self, now_ms: int) -> bool:
        """Say whether the key works at `now_ms`: it is neither revoked nor expired."""
        expired = self.expires_at_ms is not None and self.expires_at_ms <= now_ms
        return self.revoked_at_ms is None and not expired


def new_key_id() -> str:
    """Return an id that tells nothing of the key's secret."""
    return f"key_{secrets.token_hex(10)}"


def new_secret() -> str:
    """Return a secret: 256 random bits."""
    return f"tg_{secrets.token_urlsafe(_SECRET_BYTES)}"


def secret_digest(secret: str | bytes) -> bytes | None:
    """Return the SHA-256 that a key is stored under; None for what cannot be a key of ours.

    Keys are found by it and by nothing else: how long a look-up takes tells nothing of a secret.
    """
    # surrogatepass: a header may decode to anything, and a wrong key is no error of ours.
    raw = secret.encode("utf-8", "surrogatepass") if isinstance(secret, str) else secret
    return hashlib.sha256(raw).digest() if _SECRET.fullmatch(raw) else None


def checked_text(what: str, text: str) -> str:
    """Return `text`; or raise AccountsError, which says that it is no such `what`."""
    if not text.strip() or not text.isprintable() or len(text) > NAME_LIMIT:
        raise AccountsError(
            f"A {what} is 1 to {NAME_LIMIT} characters that can be printed: {text[:80]!r} is not."
        )
    return text


def check_key(key: ApiKey) -> None:
    """Raise AccountsError when a new key would be of no use."""
    unknown = key.scopes.difference(SCOPES)
    if unknown or not key.scopes:
        asked = f"{min(unknown)!r} is none" if unknown else "the key has none"
        raise AccountsError(f"A key's scopes are among {', '.join(SCOPES)}: {asked}.")
    if not key.account_ids and key.scopes != {"admin"}:
        raise AccountsError("A key needs an account, unless `admin` is its only scope.")
    if not key.is_live(key.created_at_ms):
        raise AccountsError("The key would have expired already.")


def successor(key: ApiKey, now_ms: int) -> ApiKey:
    """Return a new key like `key`; one that expires gives one that lives as long, from now."""
    expires_at_ms = None
    if key.expires_at_ms is not None:
        expires_at_ms = now_ms + key.expires_at_ms - key.created_at_ms
    return replace(key, key_id=new_key_id(), created_at_ms=now_ms, expires_at_ms=expires_at_ms)
