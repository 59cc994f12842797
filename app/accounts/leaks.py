"""Finds keys by what leaked of them: a whole secret, or its first characters.

Does not print anything, and returns no secret.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Engine, func, select

from app.accounts.apikey import PREFIX_LENGTH, ApiKey, secret_digest
from app.accounts.key_rows import find_keys
from app.storage.sql.tables import api_keys
from app.storage.sql.transactions import reading

#: The fewest characters after `tg_` that are searched for.
FEWEST = 4

_FRAGMENT = re.compile(rf"tg_[A-Za-z0-9_-]{{{FEWEST},}}")
_BARE = re.compile(rf"(?!tg_)[A-Za-z0-9_-]{{{FEWEST},}}")
_KEY_ID = re.compile(r"key_[0-9a-f]{20}")
_SECRET_LENGTH = 46

#: Sorts after every character of a secret.
_LAST = "\x7f"


@dataclass(frozen=True, slots=True)
class Leak:
    """What leaked, by its stored beginning or its key ID, and the keys that it may be of.

    `is_whole`: the whole secret is known, so the key is the right one.
    """

    begins: str
    keys: tuple[ApiKey, ...]
    is_whole: bool


def fragments(text: str) -> list[str]:
    """Return the secrets, beginnings of secrets and key IDs in a text, each once, in its order.

    A text that contains none is taken for the beginning of a secret without `tg_`.
    """
    found = [it[0] for it in re.finditer(f"{_KEY_ID.pattern}|{_FRAGMENT.pattern}", text)]
    if not found and _BARE.fullmatch(text.strip()):
        found = [f"tg_{text.strip()}"]
    return list(dict.fromkeys(found))


def find_leaks(engine: Engine, found: Iterable[str]) -> list[Leak]:
    """Return what the ledger knows of each fragment.

    Raises: LedgerUnavailable.
    """
    return [_find(engine, fragment) for fragment in found]


def count_unfindable(engine: Engine) -> int:
    """Return how many keys that are not revoked are found only by their whole secret.

    They were created before the beginnings of secrets were stored, and have not been used since.
    """
    unknown = api_keys.c.secret_prefix.is_(None) & api_keys.c.revoked_at_ms.is_(None)
    with reading(engine) as connection:
        return connection.scalar(select(func.count()).select_from(api_keys).where(unknown)) or 0


def _find(engine: Engine, fragment: str) -> Leak:
    begins = fragment[:PREFIX_LENGTH]
    with reading(engine) as connection:
        if _KEY_ID.fullmatch(fragment):
            of_id = find_keys(connection, api_keys.c.key_id == fragment)
            return Leak(fragment, tuple(of_id), bool(of_id))
        digest = secret_digest(fragment[:_SECRET_LENGTH])
        if digest is not None:
            whole = find_keys(connection, api_keys.c.secret_sha256 == digest)
            if whole:
                return Leak(begins, tuple(whole), True)
        stored = api_keys.c.secret_prefix
        # A range, because LIKE ignores case on SQLite.
        return Leak(
            begins, tuple(find_keys(connection, stored >= begins, stored < begins + _LAST)), False
        )
