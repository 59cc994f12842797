"""What an action of the administration consists of. No I/O.

An action has a form. What is entered is checked and becomes a plan, which says what it would do
before it is applied.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from werkzeug.datastructures import MultiDict

from app.accounts.accounts import Accounts
from app.accounts.errors import AccountsError
from app.ledger.reports.reader import UsageReader

#: What a form contains: the values of each field.
Values = MultiDict[str, str]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form. With `choices`, it is a list of boxes, or a choice of one if `is_single`.

    `choices` are values with their labels. A field that is `is_fixed` cannot be changed: it says
    what the action is about. One that also `is_hidden` is carried along without being shown.
    """

    name: str
    label: str = ""
    hint: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    is_single: bool = False
    is_required: bool = False
    is_fixed: bool = False
    is_hidden: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done. `secret` is a new key, which is shown once; `key_id` is its ID."""

    sentences: tuple[str, ...]
    secret: str | None = None
    key_id: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What an action would do, in sentences; `apply` does it, as the actor of its Accounts.

    Raises, in `apply`: AccountsError, AlreadyDone, LedgerUnavailable.
    """

    sentences: tuple[str, ...]
    apply: Callable[[Accounts], Outcome]


@dataclass(frozen=True, slots=True)
class Context:
    """What actions read: the ledger, the time, and the key that is signed in."""

    accounts: Accounts
    usage: UsageReader
    now_ms: int
    own_key_id: str


@dataclass(frozen=True, slots=True)
class Action:
    """One action. `start` returns the form's first values, from what a link says.

    Raises, in `start` and `fields`: AccountsError if the account or key does not exist.
    Raises, in `plan`: Problems.
    """

    path: str
    title: str
    button: str
    fields: Callable[[Context], tuple[Field, ...]]
    start: Callable[[Context, Values], Values]
    plan: Callable[[Context, Values], Plan]


@dataclass(eq=False)
class Problems(Exception):
    """What is wrong with a form: a message for each field; "" stands for the whole form."""

    by_field: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Note an AccountsError or a ValueError in this block as a problem of a field."""
        try:
            yield
        except ValueError as exc:  # AccountsError is one
            self.by_field.setdefault(name, str(exc))

    def check(self) -> None:
        """Raise if anything is wrong."""
        if self.by_field:
            raise self


def text_of(values: Values, name: str) -> str:
    """Return a field's text, without spaces around it."""
    return values.get(name, "").strip()


def required(values: Values, name: str, what: str) -> str:
    """Return a field's text.

    Raises: AccountsError if it is empty.
    """
    text = text_of(values, name)
    if not text:
        raise AccountsError(f"Enter {what}.")
    return text


def with_defaults(values: Values, defaults: Mapping[str, str]) -> Values:
    """Return the values, with a default for each field that has none."""
    found: Values = MultiDict(values)
    for name, value in defaults.items():
        found.setdefault(name, value)
    return found
