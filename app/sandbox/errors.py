"""The sandbox's errors, in OpenAI's shape."""


class SandboxError(Exception):
    """A request that the sandbox rejects, or was asked to fail."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        param: str | None = None,
        code: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = _one_line(message)
        self.status = status
        self.param = param if param is None else _one_line(param)
        # What has no code of its own is a value that OpenAI would reject.
        self.code = code or ("invalid_value" if status == 400 else None)
        self.headers = headers or {}

    def body(self) -> dict[str, dict[str, str | None]]:
        """Return the error's JSON."""
        return {
            "error": {
                "message": self.message,
                "type": "server_error" if self.status >= 500 else "invalid_request_error",
                "param": self.param,
                "code": self.code,
            }
        }


def _one_line(text: str) -> str:
    """Return the text with `?` for control characters, which a name of a field may have."""
    return "".join(it if it.isprintable() else "?" for it in text)
