"""The state of an HTTP/1.1 response while it arrives: status, headers, and parts of the body.

llhttp parses, through httptools; a response that it rejects is parsed again by `lenient`, if that
is still possible. No I/O. Source: RFC 9112.
"""

import re

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from app.transport.http1.errors import BadHTTP, BrokenResponse, EndedEarly
from app.transport.http1.lenient import LenientParser, status_in

#: What the parsers raise.
_PARSER_ERRORS = (HttpParserError, HttpParserUpgrade, BadHTTP)

#: The size of a chunk with spaces after it. It is searched for at the beginning of a body only;
#: missing one does no harm.
_PADDED_SIZE = re.compile(rb"(?:^|\r\n)[0-9A-Fa-f]+ +\r\n")
_SEARCHED_BYTES = 4096

#: How many packets are kept of a response whose body has not begun to arrive.
_RAW_LIMIT = 64

#: Most bytes of a head, those of interim responses included: servers and proxies send up to 16 KiB.
HEAD_LIMIT = 64 * 1024


class ResponseParser:
    """Parses the responses of a connection, one after the other.

    The parser below it calls the methods that begin with `on_`. `failure` is why the response
    cannot be read on; all that came before it is in `pieces`.
    """

    def __init__(self) -> None:
        self._parser: HttpResponseParser | LenientParser = HttpResponseParser(self)
        # "5 " as the size of a chunk is unambiguous, and too common to parse the response again.
        self._parser.set_dangerous_leniencies(lenient_spaces_after_chunk_size=True)
        self.begin()

    def begin(self) -> None:
        """Begin the next response; the one before was read whole."""
        self.status = 0
        #: By name in lower case; repeated headers are joined with a comma.
        self.headers: dict[str, str] = {}
        self.has_head = False
        self.is_complete = False
        #: Whether another request may follow on the connection.
        self.keeps_alive = True
        self.failure: BrokenResponse | None = None
        #: Parts of the body that nobody has read yet.
        self.pieces: list[bytes] = []
        self._is_chunked = False
        #: Everything received so far, until the body is read: the response may be parsed again.
        self._raw: list[bytes] | None = []
        self._head_size = 0

    def feed(self, data: bytes) -> None:
        """Parse the next bytes."""
        if self._raw is not None:
            self._feed_first(self._raw, data)
            return
        try:
            self._parser.feed_data(data)
        except _PARSER_ERRORS as exc:
            self._recover(exc)

    def feed_end(self) -> None:
        """End the response with its connection, if its headers allow that.

        Raises: EndedEarly.
        """
        if not self.has_head or self._is_framed():
            raise EndedEarly("broke off the connection")
        self.is_complete = True

    def take(self) -> bytes:
        """Return the parts of the body that have arrived, in one piece; empty if there are none."""
        pieces = self.pieces
        if not pieces:
            return b""
        packet = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        self._raw = None
        return packet

    def end_at_status(self) -> bool:
        """End an unreadable response if its status is known to be an error; return whether it is.

        Its status counts then, and its body is empty.
        """
        status = self.known_status
        if status is None or status < 300:
            return False
        self.status, self.has_head, self.is_complete = status, True, True
        self.keeps_alive = False
        return True

    @property
    def known_status(self) -> int | None:
        """The status in what was received, even if the rest of the head is unreadable."""
        return status_in(b"".join(self._raw or ()))

    def _feed_first(self, raw: list[bytes], data: bytes) -> None:
        """Parse the first bytes of a response, and keep them while it may be parsed again."""
        if not self.has_head and self._head_size > HEAD_LIMIT:
            self._fail("sent a response whose headers are too large")
            return
        raw.append(data)
        self._head_size += len(data)
        try:
            self._parser.feed_data(data)
        except _PARSER_ERRORS as exc:
            self._recover(exc)
        if self.has_head and self._raw is not None and len(self._raw) > _RAW_LIMIT:
            self._raw = None
        if self._is_chunked and b" \r\n" in data[:_SEARCHED_BYTES] and _PADDED_SIZE.search(data):
            self.keeps_alive = False

    def _recover(self, exc: Exception) -> None:
        """Parse a response again from its beginning, leniently, if none of its body was read."""
        raw = self._raw
        if self.is_complete:
            self.keeps_alive = False  # noise after a whole response
        elif raw is None or isinstance(exc, HttpParserUpgrade | BadHTTP):
            self._fail(
                exc if isinstance(exc, BadHTTP) else "sent a response that is not valid HTTP"
            )
        else:
            self._parse_leniently(b"".join(raw))

    def _fail(self, why: BadHTTP | str) -> None:
        self.failure = BadHTTP(why) if isinstance(why, str) else why
        self.failure.status = self.status or None

    def _parse_leniently(self, raw: bytes) -> None:
        self.status, self.headers, self._raw, self._head_size = 0, {}, [], 0
        self.has_head = self._is_chunked = False
        self.pieces.clear()
        self._parser = LenientParser(self)
        self.feed(raw)

    def _is_framed(self) -> bool:
        """Whether the headers tell where the body ends."""
        codings = self.headers.get("transfer-encoding")
        if codings is None or codings.strip().lower() == "identity":
            return bool(self.headers.get("content-length"))
        return codings.rstrip().lower().endswith("chunked")

    def on_message_begin(self) -> None:
        """Notice a second response, which was not requested: the connection is out of step."""
        if self.is_complete:
            self.keeps_alive = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header."""
        if not self.is_complete:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            before = self.headers.get(key)
            self.headers[key] = text if before is None else f"{before}, {text}"

    def on_headers_complete(self) -> None:
        """Set the status; the headers of an interim response (1xx) are dropped."""
        if self.is_complete:
            return
        status = self._parser.get_status_code()
        if status < 200:
            self.headers = {}
            return
        self.status, self.has_head = status, True
        self._is_chunked = "transfer-encoding" in self.headers
        self.keeps_alive = self._parser.should_keep_alive()

    def on_body(self, piece: bytes) -> None:
        """Add a part of the body."""
        if not self.is_complete:
            self.pieces.append(piece)

    def on_message_complete(self) -> None:
        """End the response, unless it is an interim one."""
        if self.has_head:
            self.is_complete = True
