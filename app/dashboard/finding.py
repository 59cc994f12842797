"""Finds accounts and keys by a part of their IDs or names: there may be hundreds. No I/O."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.accounts.accounts import Account
from app.accounts.apikey import PREFIX_LENGTH, ApiKey

#: Up to so many accounts or keys, a page shows no form to find one.
FEW = 20

_TEXT_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Finding:
    """What a page shows of accounts and keys: all, or those that contain `text`.

    Of an API key, `text` is only what is stored in clear.
    """

    text: str
    accounts: Sequence[Account]

    def has(self, key: ApiKey, account_ids: Iterable[str]) -> bool:
        """Return whether a key is shown, of whose accounts the user may see `account_ids`.

        It is found by its ID, its name, the first characters of its secret, and by its accounts.
        """
        mine = tuple(account_ids)
        texts = (key.key_id, key.name or "", key.secret_prefix or "", *mine)
        found = {it.account_id for it in self.accounts}
        return _contain(texts, self.text) or not found.isdisjoint(mine)

    def is_offered(self, keys: int) -> bool:
        """Return whether the page has the form, with so many `keys` on it."""
        return bool(self.text) or max(len(self.accounts), keys) > FEW


def find(args: Mapping[str, str], accounts: Iterable[Account]) -> Finding:
    """Return the accounts that contain the text of `find` in a query string; all without one."""
    text = args.get("find", "").strip()[:_TEXT_LIMIT]
    if text.startswith("tg_"):
        text = text[:PREFIX_LENGTH]
    found = [it for it in accounts if _contain((it.account_id, it.name), text)]
    return Finding(text, found)


def _contain(texts: Iterable[str], wanted: str) -> bool:
    return any(wanted.casefold() in text.casefold() for text in texts)
