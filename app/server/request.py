"""A gunicorn request that ignores forwarding headers, and asks for its body when it is read."""

from collections.abc import Callable
from typing import Any

from gunicorn.http.body import Body, LengthReader
from gunicorn.http.errors import InvalidHeaderName
from gunicorn.http.message import Request

from app.server.reader import HEAD_BYTES, Reader


class WebRequest(Request):  # type: ignore[misc]
    """One request. `100 Continue` is sent when its body is first read, not earlier."""

    body: Any
    _expected_100_continue: bool

    def __init__(
        self, cfg: Any, reader: Reader, addr: Any, number: int, body_is_here: Callable[[], None]
    ) -> None:
        """Read a request's head; `body_is_here` is called when all of its body has been read."""
        super().__init__(cfg, reader, addr, number)
        reader.wait_for_body()
        self.response: Any = None
        self.body.is_here = body_is_here
        self.body.awaits_continue = self._expected_100_continue
        self._expected_100_continue = False  # gunicorn would send it before the request is checked

    def parse(self, unreader: Reader) -> bytes:
        """Read the head; return the input beyond it."""
        self.max_buffer_headers = HEAD_BYTES
        unused: bytes = super().parse(unreader)
        return unused

    def set_body_reader(self) -> None:
        """Choose the reader for the body's framing."""
        super().set_body_reader()
        self.body = WebBody(self.body.reader, self.unreader)

    def is_read(self) -> bool:
        """Return whether all of the body has been read from the connection.

        A short body that arrived with the head is read now, so that the connection can be reused.
        """
        body = self.body
        if isinstance(body.reader, LengthReader):
            length = body.reader.length
            if 0 < length <= self.unreader.buf.getbuffer().nbytes:
                body.awaits_continue = False
                body.read(length)
        return bool(body.is_whole)

    def _apply_header_policy(self, name: str, *more: Any, **options: Any) -> Any:
        """Drop headers with an underscore, as gunicorn does, but for one that a retry relies on.

        Raises: InvalidHeaderName for `idempotency_key`: its request could be charged twice.
        """
        kept = super()._apply_header_policy(name, *more, **options)
        if kept is None and name.startswith("IDEMPOTEN"):
            raise InvalidHeaderName(name)
        return kept

    def _peer_is_trusted_proxy(self) -> bool:
        """Trust no peer: its headers would set the path, the client's address and the scheme."""
        return False


class WebBody(Body):  # type: ignore[misc]
    """A request's body; with `awaits_continue`, its client waits for `100 Continue`.

    It has no reference to its request: the cycle would live until the garbage collector runs.
    """

    awaits_continue = False
    is_here: Callable[[], None]

    def __init__(self, reader: Any, unreader: Reader) -> None:
        super().__init__(reader)
        self._unreader = unreader

    @property
    def is_whole(self) -> bool:
        """Whether all of the body has arrived and was valid."""
        if self.failed:
            return False
        reader = self.reader
        return not (reader.length if isinstance(reader, LengthReader) else reader.parser)

    def _read_reader(self, size: int) -> bytes:
        if self.awaits_continue:
            self.awaits_continue = False
            if not self._unreader.buf.tell():
                self._unreader.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        data: bytes = super()._read_reader(size)
        if self.is_whole:
            self.is_here()
        return data
