"""Actions on accounts: create, change, disable and enable them."""

from collections.abc import Iterator, Sequence

from app.accounts.account_rows import check_account_id
from app.accounts.accounts import Account, Accounts
from app.accounts.apikey import ApiKey, checked_text
from app.dashboard.admin.action import (
    Action,
    Context,
    Field,
    Outcome,
    Plan,
    Problems,
    Values,
    required,
    text_of,
)
from app.dashboard.admin.effects import (
    SOON,
    active_keys,
    count_of_requests,
    last_use,
    requests_of_a_day,
)
from app.dashboard.admin.stale import SEEN, check_seen, opened

#: The most keys that a page names.
SHOWN_KEYS = 20

_ACCOUNT = Field("account", is_fixed=True)
_NAME = Field("name", "Name", "Shown in lists. Up to 200 characters.", is_required=True)
_OWN_ACCOUNT = (
    "You are signed in with a key of this account, which would stop working. Sign in with another"
    " key, or use `tollgate accounts disable`."
)
_ABOUT = Field("description", "Description", "Such as its owner. May be empty.")


def _create(context: Context, values: Values) -> Plan:
    problems = Problems()
    account_id, about = text_of(values, "account_id"), text_of(values, "description") or None
    name = text_of(values, "name") or account_id
    with problems.of("account_id"):
        check_account_id(required(values, "account_id", "an ID"))
        if context.accounts.exists(account_id):
            raise ValueError(f"The account {account_id} already exists.")
    _check_texts(problems, name or "-", about)
    problems.check()

    def apply(accounts: Accounts) -> Outcome:
        accounts.create(account_id, name, about)
        return Outcome((f"The account {account_id} was created. Next, create a key for it.",))

    return Plan(
        (
            f"Create the account {account_id} ({name}).",
            "It has no keys and no limits. Its ID cannot be changed, and the account cannot be"
            " deleted: you can only disable it.",
        ),
        apply,
    )


def _change(context: Context, values: Values) -> Plan:
    account = _account(context, values)
    check_seen(values, _texts(account))
    problems = Problems()
    about = text_of(values, "description")
    name = text_of(values, "name")
    with problems.of("name"):
        required(values, "name", "a name")
    _check_texts(problems, name or "-", about or None)
    if (name, about) == (account.name, account.description or ""):
        problems.by_field.setdefault("", "Nothing is changed yet.")
    problems.check()

    def apply(accounts: Accounts) -> Outcome:
        accounts.update(account.account_id, name=name, description=about, expected=account)
        return Outcome((f"The account {account.account_id} was changed.",))

    changes = [("name", account.name, name), ("description", account.description or "", about)]
    sentences = (
        f"Change the {label} of {account.account_id} from “{old}” to “{new}”."
        for label, old, new in changes
        if old != new
    )
    return Plan((*sentences, "Keys, limits and usage stay as they are."), apply)


def _disable(context: Context, values: Values) -> Plan:
    account = _account(context, values)
    account_id = account.account_id
    if account.disabled_at_ms is not None:
        raise Problems({"": f"The account {account_id} is disabled already."})
    keys = active_keys(context, account_id)
    if any(it.key_id == context.own_key_id and len(it.enabled_account_ids) == 1 for it in keys):
        raise Problems({"": _OWN_ACCOUNT})

    def apply(accounts: Accounts) -> Outcome:
        accounts.disable(account_id)
        return Outcome((f"The account {account_id} is disabled.", SOON))

    made = count_of_requests(requests_of_a_day(context, account_id=account_id))
    return Plan(
        (
            f"Disable the account {account_id} ({account.name}). It made {made}; such requests will"
            " be refused with 403 account_disabled.",
            *_effects(keys, account_id, context.now_ms),
            "Requests in flight run to their end. Usage stays. You can enable the account again.",
        ),
        apply,
    )


def _effects(keys: Sequence[ApiKey], account_id: str, now_ms: int) -> Iterator[str]:
    """Say what becomes of an account's keys; name at most SHOWN_KEYS."""
    for key in keys[:SHOWN_KEYS]:
        yield _effect(key, account_id, now_ms)
    if len(keys) > SHOWN_KEYS:
        yield f"And {len(keys) - SHOWN_KEYS} more keys."


def _effect(key: ApiKey, account_id: str, now_ms: int) -> str:
    """Say what becomes of a key when an account is disabled."""
    others = [it for it in key.enabled_account_ids if it != account_id]
    does = f"works only for {', '.join(others)}" if others else "is refused"
    return f"The key {key.key_id} ({last_use(key, now_ms)}) {does}."


def _enable(context: Context, values: Values) -> Plan:
    account = _account(context, values)
    account_id = account.account_id
    if account.disabled_at_ms is None:
        raise Problems({"": f"The account {account_id} is not disabled."})

    def apply(accounts: Accounts) -> Outcome:
        accounts.enable(account_id)
        return Outcome((f"The account {account_id} is enabled.", SOON))

    keys = active_keys(context, account_id)
    working = ", ".join(it.key_id for it in keys) or "none"
    return Plan(
        (
            f"Enable the account {account_id} ({account.name}) again.",
            f"Keys that work again: {working}. Revoked and expired keys stay refused.",
        ),
        apply,
    )


def _account(context: Context, values: Values) -> Account:
    return context.accounts.get(text_of(values, "account"))


def _check_texts(problems: Problems, name: str, about: str | None) -> None:
    with problems.of("name"):
        checked_text("name", name)
    if about is not None:
        with problems.of("description"):
            checked_text("description", about)


def _start(context: Context, values: Values) -> Values:
    return opened(values, _texts(_account(context, values)))


def _texts(account: Account) -> dict[str, str]:
    """Return the texts of the form's fields."""
    return {"name": account.name, "description": account.description or ""}


def _create_start(_: Context, values: Values) -> Values:
    return values


def _create_fields(_: Context) -> tuple[Field, ...]:
    hint = "1 to 64 letters, digits, -, _ and .; case-sensitive."
    name = Field("name", "Name", "Shown in lists; if it is empty, the ID.")
    return (Field("account_id", "ID", hint, is_required=True), name, _ABOUT)


def _change_fields(_: Context) -> tuple[Field, ...]:
    return (_ACCOUNT, SEEN, _NAME, _ABOUT)


def _only_account(_: Context) -> tuple[Field, ...]:
    return (_ACCOUNT,)


ACCOUNT_ACTIONS: tuple[Action, ...] = (
    Action(
        "create-account",
        "Create an account",
        "Create the account",
        _create_fields,
        _create_start,
        _create,
    ),
    Action(
        "change-account",
        "Change an account",
        "Change the account",
        _change_fields,
        _start,
        _change,
    ),
    Action(
        "disable-account",
        "Disable an account",
        "Disable the account",
        _only_account,
        _start,
        _disable,
    ),
    Action(
        "enable-account",
        "Enable an account",
        "Enable the account",
        _only_account,
        _start,
        _enable,
    ),
)
