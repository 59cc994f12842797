"""The error of commands that create or change accounts and keys."""


class AccountsError(ValueError):
    """The change is invalid or impossible; the message states the problem and the next step."""
