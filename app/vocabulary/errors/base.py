"""The base of all errors that can reach a caller."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

#: Whether a retry of the same request can succeed: never, at once, or after `retry-after`.
Retry = Literal["no", "yes", "later"]

#: Tells clients whether to retry. OpenAI's official clients obey it, whatever the status.
SHOULD_RETRY = "x-should-retry"


class TollgateError(Exception):
    """Base of all errors; `str(error)` is safe to show to the caller."""

    status: int = 500
    type: str = "server_error"
    code: str | None = "internal_error"
    #: Who can do something about it, and what; for the page of errors.
    acts: ClassVar[str] = "the operator: the log has the error under the request's id."
    retry: ClassVar[Retry] = "yes"

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.code = code or type(self).code
        self.headers: dict[str, str] = dict(headers or {})
        #: A sentence for the caller alone, after the message: the ledger does not keep it.
        self.note = ""
        #: Every fault of a request that has several, the first one included; each as an error body.
        self.details: Sequence[Mapping[str, str | None]] = ()
        #: Further fields of the body, for the caller alone.
        self.beside: Mapping[str, Any] = {}
        if self.retry == "no" and is_retried(self.status):
            self.headers.setdefault(SHOULD_RETRY, "false")

    @property
    def refusal_reason(self) -> str:
        """The stable word by which a request is counted that this error refuses."""
        return self.code or self.type

    @property
    def anchor(self) -> str:
        """The heading of the page of errors that explains this one."""
        return self.code or self.type

    def add(self, sentence: str) -> None:
        """Append a sentence to the message."""
        self.message = _joined(self.message, sentence)
        self.args = (self.message,)

    def body(self, **context: str) -> dict[str, dict[str, Any]]:
        """Return OpenAI's error body, which the official clients parse; `context` is added."""
        error: dict[str, Any] = {
            "message": _joined(self.message, self.note) if self.note else self.message,
            "type": self.type,
            "param": self.param,
            "code": self.code,
        }
        if self.details:
            error["details"] = list(self.details)
        return {"error": {**self.beside, **error, **context}}


def _joined(sentence: str, more: str) -> str:
    ends = sentence.endswith((".", "!", "?", ":"))
    return f"{sentence}{'' if ends else '.'} {more}"


def is_retried(status: int) -> bool:
    """Return whether the official clients retry a response with this status by themselves."""
    return status in (408, 409, 429) or status >= 500
