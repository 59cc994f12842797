"""Actions on keys: create, rotate and revoke them."""

from app.accounts.accounts import Accounts
from app.accounts.apikey import SCOPES, ApiKey, check_key, checked_text, new_key_id
from app.accounts.errors import AccountsError
from app.dashboard.admin.action import (
    Action,
    Context,
    Field,
    Outcome,
    Plan,
    Problems,
    Values,
    text_of,
    with_defaults,
)
from app.dashboard.admin.durations import read_expiry, read_span_s
from app.dashboard.admin.effects import (
    SOON,
    count_of_requests,
    described,
    last_use,
    requests_of_a_day,
)
from app.dashboard.formatting import moment

_KEY = Field("key", is_fixed=True)
_ONCE = "The key is shown once, on the next page: Tollgate stores only its hash."
_OWN_KEY = "You are signed in with this key. Sign in with another, or use `tollgate keys revoke`."
_SCOPE_LABELS = {
    "completions": "completions: call vendors",
    "usage": "usage: read the usage of its accounts, and this dashboard",
    "admin": "admin: read everything, and change accounts, keys and limits here",
}


def _create(context: Context, values: Values) -> Plan:
    name = text_of(values, "name") or None
    account_ids, scopes = values.getlist("accounts"), values.getlist("scopes")
    expires_at_ms = _checked_expiry(context, values)

    def apply(accounts: Accounts) -> Outcome:
        key, secret = accounts.create_key(account_ids, scopes, name, expires_at_ms)
        return Outcome((f"The key {described(key)} was created.",), secret, key.key_id)

    until = f"until {_utc(expires_at_ms)}" if expires_at_ms else "until it is revoked"
    of = f"for {', '.join(account_ids)}" if account_ids else "without an account"
    called = f" called “{name}”" if name else ""
    uses = (f"It may be used for {_SCOPE_LABELS[it]}." for it in scopes)
    disabled = (
        f"The account {it.account_id} is disabled: the key is refused for it until it is enabled."
        for it in context.accounts.list()
        if it.account_id in account_ids and it.disabled_at_ms is not None
    )
    said = (f"Create a key{called} {of}, which works {until}.", *uses, *disabled, _ONCE)
    return Plan(said, apply)


def _checked_expiry(context: Context, values: Values) -> int | None:
    """Check the form of a new key; return when the key expires.

    Raises: Problems.
    """
    problems = Problems()
    expires_at_ms, scopes = None, values.getlist("scopes")
    if text_of(values, "name"):
        with problems.of("name"):
            checked_text("name", text_of(values, "name"))
    with problems.of("expires"):
        expires_at_ms = read_expiry(text_of(values, "expires"), context.now_ms)
    with problems.of("accounts"):
        _check_accounts(context, values.getlist("accounts"), scopes)
    with problems.of("scopes"):
        if not scopes:
            raise AccountsError("Choose what the key may do.")
        _check_scopes(scopes, context.now_ms)
    problems.check()
    return expires_at_ms


def _rotate(context: Context, values: Values) -> Plan:
    key = _live_key(context, values)
    if key.retired_at_ms is not None:
        raise Problems({"": f"The key {key.key_id} was already rotated, and will expire."})
    problems = Problems()
    overlap_s: float | None = None
    with problems.of("overlap"):
        overlap_s = read_span_s(text_of(values, "overlap"))
    problems.check()

    def apply(accounts: Accounts) -> Outcome:
        new, secret = accounts.rotate(key.key_id, overlap_s=overlap_s)
        return Outcome((f"The key {described(new)} was created.",), secret, new.key_id)

    ends = "until you revoke it"
    if overlap_s is not None:
        ends_ms = context.now_ms + int(overlap_s * 1000)
        ends = f"until {_utc(min(ends_ms, key.expires_at_ms or ends_ms))}, and is then refused"
    made = count_of_requests(requests_of_a_day(context, key=key))
    return Plan(
        (
            f"Create a key like {described(key)}, with the same scopes, accounts and limits.",
            f"{key.key_id} ({last_use(key, context.now_ms)}; {made}) works {ends}.",
            _ONCE,
        ),
        apply,
    )


def _revoke(context: Context, values: Values) -> Plan:
    key = _live_key(context, values)
    if key.key_id == context.own_key_id:
        raise Problems({"": _OWN_KEY})

    def apply(accounts: Accounts) -> Outcome:
        accounts.revoke(key.key_id)
        return Outcome((f"The key {key.key_id} is revoked.", SOON))

    made = count_of_requests(requests_of_a_day(context, key=key))
    return Plan(
        (
            f"Revoke the key {described(key)}: {last_use(key, context.now_ms)}.",
            f"It made {made}; such requests will be refused with 401 invalid_api_key.",
            "Requests in flight run to their end. A revoked key never works again.",
        ),
        apply,
    )


def _live_key(context: Context, values: Values) -> ApiKey:
    """Return the key that the form is about.

    Raises: Problems.
    """
    key_id = text_of(values, "key")
    key = context.accounts.get_key(key_id)
    if key is None:
        raise Problems({"": f"There is no key {key_id[:80]!r}."})
    if not key.is_live(context.now_ms):
        raise Problems({"": f"The key {key.key_id} is {key.state(context.now_ms)} already."})
    return key


def _check_accounts(context: Context, account_ids: list[str], scopes: list[str]) -> None:
    known = {it.account_id for it in context.accounts.list()}
    for account_id in account_ids:
        if account_id not in known:
            raise AccountsError(f"There is no account {account_id[:80]!r}.")
    if not account_ids and scopes != ["admin"]:
        raise AccountsError("Choose an account. Only a key with the scope admin alone needs none.")


def _check_scopes(scopes: list[str], now_ms: int) -> None:
    check_key(ApiKey(new_key_id(), None, ("any",), frozenset(scopes), now_ms, None, None))


def _utc(unix_ms: int) -> str:
    return f"{moment(unix_ms)} UTC"


def _create_fields(context: Context) -> tuple[Field, ...]:
    found = context.accounts.list()
    names = tuple((it.account_id, f"{it.account_id} ({it.name})") for it in found)
    return (
        Field("accounts", "Accounts", "None only for a key with the scope admin alone.", names),
        Field(
            "scopes",
            "What the key may do",
            choices=tuple((it, _SCOPE_LABELS[it]) for it in SCOPES),
            is_required=True,
        ),
        Field("name", "Name", "Shown in lists. May be empty."),
        Field("expires", "Expires", "90d, 12h, or a date or time in UTC. Empty: never."),
    )


_OVERLAP = Field(
    "overlap",
    "Overlap",
    "How long the old key still works, such as 24h or 7d. Empty: until you revoke it.",
)


def _create_start(_: Context, values: Values) -> Values:
    return with_defaults(values, {"accounts": values.get("account", ""), "scopes": "completions"})


def _about_key(context: Context, values: Values) -> Values:
    _live_key(context, values)
    return with_defaults(values, {"overlap": "24h"})


def _only_key(_: Context) -> tuple[Field, ...]:
    return (_KEY,)


def _rotate_fields(_: Context) -> tuple[Field, ...]:
    return (_KEY, _OVERLAP)


KEY_ACTIONS: tuple[Action, ...] = (
    Action("create-key", "Create a key", "Create the key", _create_fields, _create_start, _create),
    Action("rotate-key", "Rotate a key", "Rotate the key", _rotate_fields, _about_key, _rotate),
    Action("revoke-key", "Revoke a key", "Revoke the key", _only_key, _about_key, _revoke),
)
