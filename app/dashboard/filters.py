"""The filters of the dashboard's pages, parsed from the query string. No I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlencode

from app.dashboard.time_ranges import (
    DEFAULT_PRESET,
    TimeRange,
    find_zone,
    own_range,
    preset_range,
)
from app.ledger.reports.query import GroupKey, UsageQuery
from app.ledger.slots import DAY_S
from app.vocabulary.errors import AccountNotAllowed, InvalidRequest
from app.vocabulary.request import ENDPOINTS
from app.vocabulary.statuses import STATUSES

#: What the overview groups by, in the order of its list: the value of `by` -> the ledger's name.
GROUPS: Mapping[str, GroupKey] = {
    "model": "model",
    "vendor": "vendor",
    "account": "account",
    "key": "api_key",
    "user": "user",
    "status": "status",
    "endpoint": "endpoint",
}
#: Filters that compare text.
TEXTS = ("account", "key", "vendor", "model", "user", "status", "endpoint")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """A range of time and what is included in it; an empty text includes everything.

    `since` and `until` are the user's own range as it was typed; `zone` is an IANA name.
    """

    range: TimeRange
    zone: str = "UTC"
    since: str = ""
    until: str = ""
    account: str = ""
    key: str = ""
    vendor: str = ""
    model: str = ""
    user: str = ""
    status: str = ""
    endpoint: str = ""
    by: str = "model"

    @classmethod
    def load(cls, args: Mapping[str, str], now_s: float, zone: str = "UTC") -> "Filters":
        """Parse a query string; `zone` is the user's, if the query names none.

        Raises: InvalidRequest.
        """
        texts = {name: args.get(name, "").strip() for name in (*TEXTS, "since", "until")}
        if any("\0" in text for text in texts.values()):
            raise InvalidRequest("A filter must not contain NUL.")
        _check_choices(texts)
        by = args.get("by") or "model"
        if by not in GROUPS:
            raise InvalidRequest(f"`by` must be one of {', '.join(GROUPS)}.", param="by")
        zone = args.get("zone", "").strip() or zone
        where = find_zone(zone)
        if texts["since"] or texts["until"]:
            chosen = own_range(texts["since"], texts["until"], where, int(now_s))
        else:
            chosen = preset_range(args.get("range") or DEFAULT_PRESET, where, int(now_s))
        return cls(range=chosen, zone=zone, by=by, **texts)

    def query(self, visible: frozenset[str] | None) -> UsageQuery:
        """Return the query of the ledger; `visible`: the accounts that may be seen, None for all.

        Raises: AccountNotAllowed.
        """
        if self.account and visible is not None and self.account not in visible:
            raise AccountNotAllowed(
                "This key does not belong to the account in `account`.", param="account"
            )
        return UsageQuery(
            start_s=self.range.start_s,
            end_s=self.range.end_s,
            account_ids=frozenset({self.account}) if self.account else visible,
            api_key_ids=_one(self.key),
            vendors=_one(self.vendor),
            models=_one(self.model),
            users=_one(self.user),
            statuses=_one(self.status),
            endpoints=_one(self.endpoint),
            group_by=(GROUPS[self.by],),
        )

    def with_preset(self, preset: str) -> "Filters":
        """Return the filters with another range."""
        chosen = preset_range(preset, self.range.zone, self.range.now_s)
        return replace(self, range=chosen, since="", until="")

    def url_query(self, **changes: str) -> str:
        """Return the query string with some filters changed; an empty text removes a filter."""
        own = {"range": self.range.preset, "since": self.since, "until": self.until}
        own |= {name: getattr(self, name) for name in TEXTS}
        own |= {"by": self.by, "zone": self.zone}
        shown = {name: text for name, text in (own | changes).items() if text}
        return urlencode(shown, safe="/:")

    @property
    def own_range(self) -> tuple[str, str]:
        """The start and the end for the form's fields; empty texts for a preset."""
        if self.range.preset:
            return "", ""
        times_s = (self.range.start_s, self.range.end_s)
        start, end = (datetime.fromtimestamp(it, self.range.zone) for it in times_s)
        return f"{start:%Y-%m-%dT%H:%M}", f"{end:%Y-%m-%dT%H:%M}"

    @property
    def can_refresh(self) -> bool:
        """Whether the page may refresh itself: its range goes on, and its query is quick."""
        is_quick = self.range.end_s - self.range.start_s <= DAY_S
        return self.range.includes_now and (is_quick or not self.query(None).needs_entries)

    @property
    def active(self) -> Mapping[str, str]:
        """The filters that are set."""
        return {name: text for name in TEXTS if (text := getattr(self, name))}


def _one(text: str) -> frozenset[str] | None:
    return frozenset({text}) if text else None


def _check_choices(texts: Mapping[str, str]) -> None:
    if texts["model"] and not all(texts["model"].partition("/")):
        raise InvalidRequest(
            "`model` must be `vendor/name`, for example `openai/gpt-4o`.", param="model"
        )
    if texts["status"] and texts["status"] not in STATUSES:
        raise InvalidRequest(
            f"`status` must be one of {', '.join(sorted(STATUSES))}.", param="status"
        )
    if texts["endpoint"] and texts["endpoint"] not in ENDPOINTS:
        raise InvalidRequest(f"`endpoint` must be one of {', '.join(ENDPOINTS)}.", param="endpoint")
