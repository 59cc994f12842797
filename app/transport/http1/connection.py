"""HTTP/1.1 as a client: a request out, the head and the packets of its answer back.

llhttp parses, by httptools; this keeps what it finds. Knows neither addresses nor TLS: it is given
a connected socket. `http.client` reads an answer line by line, at five times the cost.
Source: RFC 9112.
"""

import re
import socket
from collections.abc import Iterator, Mapping

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from app.runtime.sockets import send_all, send_while
from app.transport.http1.errors import BadHTTP, BrokenAnswer, EndedEarly
from app.transport.http1.lenient import OddParser, status_in

#: Most that is read at once, in bytes.
PACKET_BYTES = 64 * 1024

#: Most that an answer's status line and headers may take, in bytes.
HEAD_LIMIT = 256 * 1024

#: A request up to this size is sent at once; of a larger one, the answer is looked for meanwhile.
ONE_PIECE = 64 * 1024


#: What parsers raise.
NO_ANSWER = (HttpParserError, HttpParserUpgrade, BadHTTP)


class Connection:
    """One connection, for one exchange after the other.

    The parser calls the methods that begin with `on_`.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        #: When it was opened and last given back, on its pool's clock, in seconds.
        self.opened_at_s = self.idle_since_s = 0.0
        #: How long it may wait for its next use, in seconds.
        self.idle_limit_s = 0.0
        self.status = 0
        #: By name in lower case; those that came twice are joined with a comma.
        self.headers: dict[str, str] = {}
        #: Whether the vendor may have the whole request.
        self.has_sent = False
        self._parser: HttpResponseParser | OddParser = HttpResponseParser(self)
        # "5 " as a chunk's size means 5, and is too common to be begun again for.
        self._parser.set_dangerous_leniencies(lenient_spaces_after_chunk_size=True)
        self._pieces: list[bytes] = []
        self._has_head = False
        self._is_complete = False
        self._is_chunked = False
        self._is_reusable = True
        #: What has come of the answer, until some of its body is given on.
        self._raw: list[bytes] | None = []
        self._send_error: OSError | None = None
        self._failure: BrokenAnswer | None = None

    def send(self, request: bytes) -> None:
        """Send a request; the answer to the one before it was read whole.

        A failure is kept for `read_head`: a vendor may refuse a request, and close, before it has
        all of it.
        """
        self._begin()
        self._send_error = self._failure = None
        self.has_sent = len(request) <= ONE_PIECE
        try:
            if self.has_sent:
                send_all(self.sock, request)
            else:
                self.has_sent = send_while(self.sock, request, self._may_send_on)
        except OSError as exc:
            self.has_sent, self._send_error = False, exc

    def read_head(self) -> None:
        """Wait for the final status and headers; an interim answer (1xx) is passed over.

        An error status counts even if the rest of the head is unreadable: the body is then empty.
        Raises: OSError.
        """
        received = 0
        try:
            while not self._has_head:
                received += self._read()
                if self._failure is not None and not self._has_head:
                    raise self._failure
                if received > HEAD_LIMIT and not self._has_head:
                    raise BadHTTP(
                        "sent an answer that is not valid HTTP: its headers are too large"
                    )
        except OSError as exc:
            status = status_in(b"".join(self._raw or ()))
            if status is None or status < 300:
                if isinstance(exc, BrokenAnswer):
                    exc.status = status
                if self._send_error is not None:
                    raise self._send_error from exc
                raise
            self.status, self._has_head, self._is_complete = status, True, True
            self._is_reusable = False

    def packets(self) -> Iterator[bytes]:
        """Yield the body's bytes as they arrive, without their chunks.

        All that came before an error is yielded before it is raised.
        Raises: OSError.
        """
        pieces = self._pieces
        while True:
            if pieces:
                packet = pieces[0] if len(pieces) == 1 else b"".join(pieces)
                pieces.clear()
                self._raw = None
                yield packet
            if self._is_complete:
                return
            if self._failure is not None:
                raise self._failure
            self._read()

    @property
    def is_reusable(self) -> bool:
        """Whether another request may follow: the answer was read whole, and both sides stay."""
        return self._is_complete and self._is_reusable and self.has_sent and not self._pieces

    @property
    def codings(self) -> str:
        """The codings of the body besides chunks, as `content-encoding` lists them."""
        content = self.headers.get("content-encoding", "")
        transfer = self.headers.get("transfer-encoding")
        if transfer is None or transfer == "chunked":
            return content
        items = transfer.lower().split(",")
        return ",".join([content, *(item for item in items if item.strip() != "chunked")])

    def close(self) -> None:
        """Close the socket."""
        self.sock.close()

    def _begin(self) -> None:
        """Forget the answer before, or what was read of this one."""
        self.status, self.headers, self._raw = 0, {}, []
        self._has_head = self._is_complete = self._is_chunked = False
        self._pieces.clear()

    def _may_send_on(self, early: bytes) -> bool:
        """Take what the vendor says before it has the whole request; return whether to go on."""
        if early:
            self._feed(early)
        return bool(early) and self._failure is None and (not self._has_head or self.status < 300)

    def _read(self) -> int:
        data = self.sock.recv(PACKET_BYTES)
        if not data:
            self._end()
        elif self._raw is not None:
            self._feed(data)
        else:
            try:
                self._parser.feed_data(data)
            except NO_ANSWER as exc:
                self._recover(exc)
        return len(data)

    def _end(self) -> None:
        """Take the end of the connection: of some answers it is the only mark."""
        if not self._has_head or self._is_framed():
            raise EndedEarly("broke off the connection")
        self._is_complete = True

    def _feed(self, data: bytes) -> None:
        """Parse the first bytes of an answer, and keep them as long as it may be begun again."""
        if self._raw is not None:
            self._raw.append(data)
        try:
            self._parser.feed_data(data)
        except NO_ANSWER as exc:
            self._recover(exc)
        if self._has_head and self._raw is not None and len(self._raw) > _RAW_LIMIT:
            self._raw = None
        if self._is_chunked and b" \r\n" in data[:_LOOK_BYTES] and _PADDED_SIZE.search(data):
            self._is_reusable = False

    def _recover(self, exc: Exception) -> None:
        """Parse an answer again, tolerantly, from its beginning, where that is still at hand."""
        raw = self._raw
        if self._is_complete:
            self._is_reusable = False  # noise after a whole answer
        elif raw is None or isinstance(exc, HttpParserUpgrade | BadHTTP):
            bad = "sent an answer that is not valid HTTP"
            self._failure = exc if isinstance(exc, BadHTTP) else BadHTTP(bad)
            self._failure.status = self.status or None
        else:
            self._begin()
            self._parser = OddParser(self)
            self._feed(b"".join(raw))

    def _is_framed(self) -> bool:
        """Whether the headers say where the body ends."""
        codings = self.headers.get("transfer-encoding")
        if codings is None or codings.strip().lower() == "identity":
            return bool(self.headers.get("content-length"))
        return codings.rstrip().lower().endswith("chunked")

    def on_message_begin(self) -> None:
        """Begin an answer; a second one was not asked for, and makes the next one doubtful."""
        if self._is_complete:
            self._is_reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        if not self._is_complete:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            before = self.headers.get(key)
            self.headers[key] = text if before is None else f"{before}, {text}"

    def on_headers_complete(self) -> None:
        """Take the status; an interim one says nothing of what comes after it."""
        if self._is_complete:
            return
        status = self._parser.get_status_code()
        if status < 200:
            self.headers = {}
            return
        self.status, self._has_head = status, True
        self._is_chunked = "transfer-encoding" in self.headers
        self._is_reusable = self._parser.should_keep_alive()

    def on_body(self, piece: bytes) -> None:
        """Take a piece of the body."""
        if not self._is_complete:
            self._pieces.append(piece)

    def on_message_complete(self) -> None:
        """End the answer."""
        if self._has_head:
            self._is_complete = True


#: The size of a chunk with blanks after it. It is looked for where a body begins; nothing is lost
#: where one goes unnoticed.
_PADDED_SIZE = re.compile(rb"(?:^|\r\n)[0-9A-Fa-f]+ +\r\n")
_LOOK_BYTES = 4096

#: How many packets are kept of an answer of which no body comes.
_RAW_LIMIT = 64


def request_bytes(method: str, target: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """Return a request, head and body, to be sent in one packet where it fits.

    Raises: ValueError when a header holds what would end it early.
    """
    lines = [f"{method} {target} HTTP/1.1", *map(": ".join, headers.items()), "", ""]
    head = "\r\n".join(lines)
    if head.count("\n") != len(lines) - 1 or head.count("\r") != len(lines) - 1:
        raise ValueError("a header holds a line break")
    return head.encode("latin-1") + body
