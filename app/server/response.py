"""A gunicorn response that sends its head and the first piece of its body in one packet."""

import functools
import time
from email.utils import formatdate
from typing import Any

from gunicorn.http.wsgi import Response

from app.runtime.sockets import send_all


class OnePacketResponse(Response):  # type: ignore[misc]
    """A response whose head is held back for the first piece of its body: one system call less."""

    headers_sent: bool

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._head = b""
        self._is_whole = False
        self.req.response = self

    @property
    def is_truncated(self) -> bool:
        """Whether it ended early and neither a length nor a last chunk shows it.

        For HTTP/1.0, the end of such a response is the end of its connection.
        """
        framed = self.chunked or self.response_length is not None
        return self.headers_sent and not self._is_whole and not framed

    def default_headers(self) -> list[str]:
        """Return the status line, and the headers that the server sets."""
        connection = "upgrade" if self.upgrade else "close" if self.should_close() else "keep-alive"
        major, minor = self.req.version
        headers = [
            f"HTTP/{major}.{minor} {self.status}\r\n",
            f"Server: {self.version}\r\n",
            f"Date: {_date(int(time.time()))}\r\n",
            f"Connection: {connection}\r\n",
        ]
        if self.chunked:
            headers.append("Transfer-Encoding: chunked\r\n")
        return headers

    def send_headers(self) -> None:
        """Hold the head back until the first piece of the body, or the end of the response."""
        if not self.headers_sent:
            if not self.req.is_read():  # the start of the next request is unknown
                self.must_close = True
            lines = [*self.default_headers(), *(f"{k}: {v}\r\n" for k, v in self.headers), "\r\n"]
            self._head = "".join(lines).encode("latin-1")
            self.headers_sent = True

    def can_sendfile(self) -> bool:
        """Never send a file directly: it would overtake the head."""
        return False

    def close(self) -> None:
        """End the response."""
        self.send_headers()
        end = b"0\r\n\r\n" if self.chunked else b""
        if self._head or end:
            self._emit(end)
        self._is_whole = True
        self.req.response = None  # the cycle would live until the garbage collector runs

    def _emit_body(self, data: bytes) -> None:
        self._emit(b"%X\r\n%b\r\n" % (len(data), data) if self.chunked else data)

    def _emit(self, data: bytes) -> None:
        head, self._head = self._head, b""
        send_all(self.sock, head + data)


@functools.lru_cache(maxsize=2)
def _date(at_s: int) -> str:
    return formatdate(at_s, usegmt=True)
