"""The base of all errors that can reach a caller."""

from collections.abc import Mapping

#: Tells clients whether to retry. OpenAI's official clients obey it, whatever the status.
SHOULD_RETRY = "x-should-retry"


class TollgateError(Exception):
    """Base of all errors; `str(error)` is safe to show to the caller."""

    status: int = 500
    type: str = "server_error"
    code: str | None = "internal_error"

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

    @property
    def refusal_reason(self) -> str:
        """The stable word by which a request is counted that this error refuses."""
        return self.code or self.type

    def body(self) -> dict[str, dict[str, str | None]]:
        """Return OpenAI's error body, which the official clients parse."""
        return {
            "error": {
                "message": self.message,
                "type": self.type,
                "param": self.param,
                "code": self.code,
            }
        }
