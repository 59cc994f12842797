"""A request as the web process takes it: gunicorn's, without what callers could make of it.

Loaded by gunicorn alone.
"""

from collections.abc import Callable
from typing import Any

from gunicorn.http.body import Body, LengthReader
from gunicorn.http.message import Request

from app.server.reader import HEAD_BYTES, Reader


class WebRequest(Request):  # type: ignore[misc]
    """One request. Its body is asked for when it is first read, and not before."""

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
        self.body.asks = self._expected_100_continue
        self._expected_100_continue = False  # gunicorn would ask before anything is looked at

    def parse(self, unreader: Reader) -> bytes:
        """Read the head; return what arrived beyond it."""
        self.max_buffer_headers = HEAD_BYTES
        unused: bytes = super().parse(unreader)
        return unused

    def set_body_reader(self) -> None:
        """Find out how the body is framed."""
        super().set_body_reader()
        self.body = WebBody(self.body.reader, self.unreader)

    def is_read(self) -> bool:
        """Say whether all of the body has been taken off the connection.

        A short one that arrived with the head is taken now, so that the connection can go on.
        """
        body = self.body
        if isinstance(body.reader, LengthReader):
            length = body.reader.length
            if 0 < length <= self.unreader.buf.getbuffer().nbytes:
                body.asks = False
                body.read(length)
        return bool(body.is_whole)

    def _peer_is_trusted_proxy(self) -> bool:
        """Trust none: these headers would move paths, and say who calls and how."""
        return False


class WebBody(Body):  # type: ignore[misc]
    """A request's body; `asks` says that its caller waits until it is told to send.

    It does not know its request, which would then live until the garbage collector finds both.
    """

    asks = False
    is_here: Callable[[], None]

    def __init__(self, reader: Any, unreader: Reader) -> None:
        super().__init__(reader)
        self._unreader = unreader

    @property
    def is_whole(self) -> bool:
        """Whether all of it has arrived, and was in order."""
        if self.failed:
            return False
        reader = self.reader
        return not (reader.length if isinstance(reader, LengthReader) else reader.parser)

    def _read_reader(self, size: int) -> bytes:
        if self.asks:
            self.asks = False
            if not self._unreader.buf.tell():
                self._unreader.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        data: bytes = super()._read_reader(size)
        if self.is_whole:
            self.is_here()
        return data
