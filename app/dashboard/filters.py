"""The filters of the dashboard's pages, parsed from the query string.

Days are UTC days. No I/O.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from urllib.parse import urlencode

from app.ledger.reports.query import GroupKey, UsageQuery
from app.vocabulary.errors import AccountNotAllowed, InvalidRequest

#: What the overview groups by, in the order of its list.
GROUPS: Mapping[str, GroupKey] = {"model": "model", "vendor": "vendor", "account": "account"}

DEFAULT_DAYS = 30
DAYS_LIMIT = 366
#: Ranges of at most this many days have hourly buckets.
HOURLY_DAYS = 2

HOUR_S, DAY_S = 3600, 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Whole days from `since` to `until`, inclusive; an empty text matches everything."""

    since: date
    until: date
    today: date
    account: str = ""
    vendor: str = ""
    model: str = ""
    by: str = "model"

    @classmethod
    def load(cls, args: Mapping[str, str], now_s: float) -> "Filters":
        """Parse a query string.

        Raises: InvalidRequest.
        """
        today = datetime.fromtimestamp(now_s, UTC).date()
        until = _day(args, "until") or today
        since = _day(args, "since") or until - timedelta(days=DEFAULT_DAYS - 1)
        if not timedelta() <= until - since < timedelta(days=DAYS_LIMIT):
            raise InvalidRequest(
                f"The range {since} to {until} is invalid. Choose 1 to {DAYS_LIMIT} days.",
                param="until",
            )
        by = args.get("by") or "model"
        if by not in GROUPS:
            raise InvalidRequest(f"`by` must be one of {', '.join(GROUPS)}.", param="by")
        texts = {name: args.get(name, "").strip() for name in ("account", "vendor", "model")}
        if any("\0" in text for text in texts.values()):
            raise InvalidRequest("A filter must not contain NUL.")
        if texts["model"] and not all(texts["model"].partition("/")):
            raise InvalidRequest(
                "`model` must be `vendor/name`, for example `openai/gpt-4o`.", param="model"
            )
        return cls(since=since, until=until, today=today, by=by, **texts)

    @property
    def start_s(self) -> int:
        """The start of the range, in Unix seconds."""
        return _midnight_s(self.since)

    @property
    def end_s(self) -> int:
        """The end of the range (exclusive), in Unix seconds."""
        return _midnight_s(self.until) + DAY_S

    @property
    def bucket_s(self) -> int:
        """The width of a bucket, in seconds."""
        return HOUR_S if (self.until - self.since).days < HOURLY_DAYS else DAY_S

    @property
    def ranges(self) -> Mapping[str, Mapping[str, str]]:
        """Common ranges: name -> query parameters."""
        spans = {"Today": 1, "7 days": 7, "30 days": 30, "90 days": 90}
        return {
            name: {"since": str(self.today - timedelta(days=days - 1)), "until": str(self.today)}
            for name, days in spans.items()
        }

    def query(self, visible: frozenset[str] | None, *, over_time: bool = False) -> UsageQuery:
        """Return the query of the ledger; `visible`: the accounts that may be seen, None for all.

        Raises: AccountNotAllowed.
        """
        if self.account and visible is not None and self.account not in visible:
            raise AccountNotAllowed(
                "This key does not belong to the account in `account`.", param="account"
            )
        return UsageQuery(
            start_s=self.start_s,
            end_s=self.end_s,
            bucket_s=self.bucket_s if over_time else None,
            account_ids=frozenset({self.account}) if self.account else visible,
            vendors=frozenset({self.vendor}) if self.vendor else None,
            models=frozenset({self.model}) if self.model else None,
            group_by=(GROUPS[self.by],),
        )

    def url_query(self, **changes: str) -> str:
        """Return the query string with some filters changed; an empty text removes a filter."""
        own = {
            "since": str(self.since),
            "until": str(self.until),
            "account": self.account,
            "vendor": self.vendor,
            "model": self.model,
            "by": self.by,
        }
        return urlencode({name: text for name, text in (own | changes).items() if text})


def _day(args: Mapping[str, str], name: str) -> date | None:
    text = args.get(name, "").strip()
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError as exc:
        raise InvalidRequest(f"`{name}` must be a date such as 2026-11-29.", param=name) from exc
    if not 1970 <= day.year < 9999:
        raise InvalidRequest(f"`{name}` must be a date from 1970 to 9998.", param=name)
    return day


def _midnight_s(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
