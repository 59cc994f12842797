"""The action that changes the limits of an account or a key."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any

from app.accounts.accounts import Accounts
from app.dashboard.admin.action import (
    Action,
    Context,
    Field,
    Outcome,
    Plan,
    Problems,
    Values,
    text_of,
)
from app.dashboard.admin.effects import SOON
from app.dashboard.admin.stale import SEEN, check_seen, opened
from app.dashboard.formatting import count, usd
from app.ledger.reports.query import UsageQuery
from app.vocabulary.limits import PERIODS, Kind, Limits, period_end, period_start
from app.vocabulary.money import dollars, nanousd_of, show_usd

#: The fields of Limits that are counts, and that are money: form field -> label.
_COUNTS: Mapping[str, str] = {
    "requests_per_minute": "Requests per minute",
    "tokens_per_minute": "Tokens per minute",
    "streams": "Concurrent streams",
}
_MONEY: Mapping[str, str] = {
    "budget_nanousd": "Budget in dollars",
    "soft_nanousd": "Warning from, in dollars",
}
_EMPTY = "Empty: no limit."

_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?")


@dataclass(frozen=True, slots=True)
class _Subject:
    """The account or key that the form is about."""

    kind: Kind
    subject_id: str


def _subject(values: Values) -> _Subject:
    if text_of(values, "key"):
        return _Subject("key", text_of(values, "key"))
    return _Subject("account", text_of(values, "account"))


def _start(context: Context, values: Values) -> Values:
    of = _subject(values)
    return opened(values, _texts(context.accounts.limits(of.kind, of.subject_id)))


def _texts(limits: Limits) -> dict[str, str]:
    """Return the texts of the form's fields."""
    texts = {name: getattr(limits, name) for name in _COUNTS}
    texts |= {name: _dollars(getattr(limits, name)) for name in _MONEY}
    shown = {name: "" if value is None else str(value) for name, value in texts.items()}
    return shown | {"period": limits.period}


def _plan(context: Context, values: Values) -> Plan:
    of = _subject(values)
    old = context.accounts.limits(of.kind, of.subject_id)
    check_seen(values, _texts(old))
    changes = _changes(values)
    new = replace(old, **changes)
    if new.problem:
        raise Problems({"budget_nanousd" if new.has_budget else "": new.problem})
    sentences = tuple(_differences(old, new))
    if not sentences:
        raise Problems({"": "Nothing is changed yet."})

    def apply(accounts: Accounts) -> Outcome:
        accounts.set_limits(of.kind, of.subject_id, expected=old, **changes)
        return Outcome((f"The limits of {of.kind} {of.subject_id} are set.", SOON))

    about = f"Change the limits of {of.kind} {of.subject_id}:"
    return Plan((about, *sentences, *_spending(context, of, new)), apply)


def _changes(values: Values) -> dict[str, Any]:
    """Return the limits that the form holds.

    Raises: Problems.
    """
    problems, changes = Problems(), dict[str, Any]()
    for name in _COUNTS:
        with problems.of(name):
            changes[name] = _whole(text_of(values, name))
            _check(name, changes[name])
    for name in _MONEY:
        with problems.of(name):
            changes[name] = _nanousd(text_of(values, name))
            _check(name, changes[name])
    changes["period"] = text_of(values, "period")
    if changes["period"] not in PERIODS:
        problems.by_field["period"] = f"Choose one of {', '.join(PERIODS)}."
    problems.check()
    return changes


def _check(name: str, value: int | None) -> None:
    limits: dict[str, Any] = {name: value}
    if problem := Limits(kind="account", subject_id="", **limits).problem:
        raise ValueError(problem)


def _whole(text: str) -> int | None:
    if not text:
        return None
    digits = _without_commas(text)
    if not digits.isascii() or not digits.isdigit():
        raise ValueError(f"{text[:40]!r} is not a whole number.")
    return int(digits[:20])


def _nanousd(text: str) -> int | None:
    if not text:
        return None
    try:
        return nanousd_of(Decimal(_without_commas(text.removeprefix("$"))))
    except (InvalidOperation, ValueError, OverflowError):
        raise ValueError(
            f"{text[:40]!r} is not an amount of dollars, such as 500 or 0.50."
        ) from None


def _without_commas(text: str) -> str:
    """Return a number without commas between thousands; others stay, such as that of `1,5`."""
    return text.replace(",", "") if _THOUSANDS.fullmatch(text) else text


def _dollars(nanousd: int | None) -> str | None:
    return None if nanousd is None else dollars(nanousd)


def _differences(old: Limits, new: Limits) -> list[str]:
    found = []
    for name, label in {**_COUNTS, **_MONEY}.items():
        before, after = _shown(name, getattr(old, name)), _shown(name, getattr(new, name))
        if before != after:
            found.append(f"{label}: {before} → {after}.")
    if old.period != new.period:
        found.append(f"Period of the budget (UTC): {old.period} → {new.period}.")
    return found


def _shown(name: str, value: int | None) -> str:
    if value is None:
        return "no limit"
    return show_usd(value) if name in _MONEY else count(value)


def _spending(context: Context, of: _Subject, new: Limits) -> list[str]:
    """Say what was spent in the budget's period, and whether that is above the budget."""
    if new.budget_nanousd is None:
        return []
    start = period_start(new.period, context.now_ms)
    subjects = frozenset({of.subject_id})
    query = UsageQuery(
        start_s=int(start.timestamp()),
        end_s=int(period_end(new.period, start).timestamp()),
        account_ids=subjects if of.kind == "account" else None,
        api_key_ids=subjects if of.kind == "key" else None,
    )
    spent = sum(row.cost_nanousd for row in context.usage.rows(query))
    period = "today" if new.period == "day" else "this month"
    said = f"{usd(spent)} were spent {period} (UTC)."
    if spent >= new.budget_nanousd:
        return [f"{said} That uses up the budget: requests will be refused until it resets."]
    return [said]


def _fields(_: Context) -> tuple[Field, ...]:
    budget = "Most spending per period; requests beyond it are refused. Empty: no limit."
    periods = tuple((it, it) for it in PERIODS)
    return (
        Field("account", is_fixed=True),
        Field("key", is_fixed=True),
        SEEN,
        *(Field(name, label, _EMPTY) for name, label in _COUNTS.items()),
        Field("budget_nanousd", _MONEY["budget_nanousd"], budget),
        Field("soft_nanousd", _MONEY["soft_nanousd"], "Responses beyond it carry a warning."),
        Field("period", "Period of the budget", "Both are in UTC.", periods, is_single=True),
    )


LIMIT_ACTIONS: tuple[Action, ...] = (
    Action("set-limits", "Set limits", "Set the limits", _fields, _start, _plan),
)
