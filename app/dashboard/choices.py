"""The options of the filters' fields: accounts, keys, vendors and so on that may be chosen."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.container import services
from app.dashboard.sign_in import current_user
from app.vocabulary.request import ENDPOINTS
from app.vocabulary.statuses import STATUSES

#: Keys that the field offers; others can be typed.
KEYS_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Choices:
    """The options of each field; `account_names` and `key_names` are by id, and may be empty."""

    accounts: Sequence[str]
    vendors: Sequence[str]
    statuses: Sequence[str]
    endpoints: Sequence[str]
    account_names: Mapping[str, str]
    key_names: Mapping[str, str]

    @property
    def keys(self) -> Sequence[str]:
        """The ids of the keys that the field offers, the newest first."""
        return list(self.key_names)[: -KEYS_LIMIT - 1 : -1]

    @property
    def key_options(self) -> Sequence[tuple[str, str]]:
        """The ids and names of the keys that the field offers."""
        return [(key_id, self.key_names[key_id]) for key_id in self.keys]

    @staticmethod
    def pairs(values: Iterable[str], label: str = "") -> Sequence[tuple[str, str]]:
        """Return pairs of each value and the same label."""
        return [(value, label) for value in values]

    def name_of(self, by: str, label: str) -> str:
        """Return the name of an account or key, empty if it has none or `by` is another group."""
        return {"account": self.account_names, "key": self.key_names}.get(by, {}).get(label, "")

    def title_of(self, by: str, label: str) -> str:
        """Return a group's name in charts; a key's has part of its id, as several share one."""
        name = self.name_of(by, label)
        if by == "key" and name:
            return f"{name} \N{MIDDLE DOT} {label.removeprefix('key_')[:6]}"
        return name or label or "(none)"


def read_choices() -> Choices:
    """Return what the signed-in user may choose.

    Raises: LedgerUnavailable.
    """
    it, mine = services(), current_user().account_ids
    names = {
        account.account_id: account.name
        for account in it.accounts.list()
        if mine is None or account.account_id in mine
    }
    keys = {
        key.key_id: key.name or ""
        for key in it.accounts.list_keys()
        if mine is None or not mine.isdisjoint(key.account_ids)
    }
    return Choices(
        accounts=sorted(names),
        vendors=sorted(vendor.name for vendor in it.vendors.configured()),
        statuses=sorted(STATUSES),
        endpoints=ENDPOINTS,
        account_names=names,
        key_names=keys,
    )
