"""A query for usage, and the rows that answer it. No I/O."""

from dataclasses import dataclass, replace
from typing import Literal

from app.vocabulary.completion import Usage

#: `reason` is that of refused requests; vendor, model, user and status are those of usage.
GroupKey = Literal["account", "api_key", "vendor", "model", "user", "status", "endpoint", "reason"]

#: The columns that identify a group: several vendors may have a model of the same name.
GROUP_COLUMNS: dict[GroupKey, tuple[str, ...]] = {
    "account": ("account_id",),
    "api_key": ("api_key_id",),
    "vendor": ("vendor",),
    "model": ("vendor", "model"),
    "user": ("user",),
    "status": ("status",),
    "endpoint": ("endpoint",),
    "reason": ("reason",),
}


@dataclass(frozen=True, slots=True)
class UsageQuery:
    """The requests to sum: those that started at or after `start_s` and before `end_s`.

    Units: Unix seconds, UTC. Buckets begin at multiples of `bucket_s` plus `phase_s`, which is less
    than `bucket_s`; None sums the whole range.
    Filters: None includes everything, an empty set nothing; `models` are written `vendor/name`.
    """

    start_s: int
    end_s: int
    bucket_s: int | None = None
    phase_s: int = 0
    account_ids: frozenset[str] | None = None
    api_key_ids: frozenset[str] | None = None
    vendors: frozenset[str] | None = None
    models: frozenset[str] | None = None
    users: frozenset[str] | None = None
    statuses: frozenset[str] | None = None
    endpoints: frozenset[str] | None = None
    group_by: tuple[GroupKey, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that identify a group, without duplicates."""
        return tuple(dict.fromkeys(c for key in self.group_by for c in GROUP_COLUMNS[key]))

    @property
    def is_by_endpoint(self) -> bool:
        """Whether it is about single endpoints; otherwise, all of them are summed."""
        return self.endpoints is not None or "endpoint" in self.group_by

    @property
    def needs_entries(self) -> bool:
        """Whether only entries can answer it: rollups store neither users nor statuses."""
        filtered = self.users is not None or self.statuses is not None
        return filtered or not {"user", "status"}.isdisjoint(self.group_by)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow:
    """The totals of one group in one bucket; fields that the query does not group by are None.

    `user` is also None for requests without a user. `requests` are all recorded requests; those in
    `failed_requests`, `estimated_requests`, `priced_requests` and `empty_requests` are included.
    Failed requests ended with one of FAILED_STATUSES. Empty requests used no tokens and so have no
    price. `cost_nanousd` is the cost of the priced requests.
    """

    bucket_start_s: int | None = None
    account_id: str | None = None
    api_key_id: str | None = None
    vendor: str | None = None
    model: str | None = None
    user: str | None = None
    status: str | None = None
    endpoint: str | None = None
    requests: int
    failed_requests: int
    estimated_requests: int
    usage: Usage
    cost_nanousd: int = 0
    priced_requests: int = 0
    empty_requests: int = 0

    def __add__(self, other: "UsageRow") -> "UsageRow":
        """Return the sum of both, with the group and the bucket of the first."""
        return replace(
            self,
            requests=self.requests + other.requests,
            failed_requests=self.failed_requests + other.failed_requests,
            estimated_requests=self.estimated_requests + other.estimated_requests,
            usage=self.usage + other.usage,
            cost_nanousd=self.cost_nanousd + other.cost_nanousd,
            priced_requests=self.priced_requests + other.priced_requests,
            empty_requests=self.empty_requests + other.empty_requests,
        )

    @property
    def unpriced_requests(self) -> int:
        """The number of requests that used tokens at an unknown price."""
        return self.requests - self.priced_requests - self.empty_requests

    @property
    def known_cost_nanousd(self) -> int | None:
        """The cost of the priced requests; None if it is 0 and other requests have no price."""
        return None if self.unpriced_requests and not self.cost_nanousd else self.cost_nanousd


#: The sum of no requests.
NO_USAGE = UsageRow(requests=0, failed_requests=0, estimated_requests=0, usage=Usage())
