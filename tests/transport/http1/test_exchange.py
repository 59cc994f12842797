import contextlib
import socket
import threading
from collections import deque
from collections.abc import Iterator

import pytest

from app.transport.http1.connection import Connection
from app.transport.http1.content_coding import codings_in
from app.transport.http1.errors import BrokenResponse
from app.transport.http1.exchange import HEAD_LIMIT, Exchange, packets
from tests.support.processes import join

BODY = b'{"text": "caf\xc3\xa9"}'
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX-Two: a\r\nx-two: b\r\n\r\n%s" % (
    len(BODY),
    BODY,
)
CHUNKED = (
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nX-Two: a\r\nx-two: b\r\n\r\n"
    b'5;ext=1\r\n{"tex\r\nc\r\nt": "caf\xc3\xa9"}\r\n0\r\ntrailer: x\r\n\r\n'
)
CLOSED = b"HTTP/1.0 200 OK\r\nx-two: a\r\nX-Two: b\r\n\r\n" + BODY
INTERIM = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"


@contextlib.contextmanager
def answering(*pieces: bytes, end: bool = False) -> Iterator[Exchange]:
    """Yield an exchange whose other side sends `pieces`, one by one, and then may hang up."""
    ours, theirs = socket.socketpair()

    def answer() -> None:
        with contextlib.suppress(OSError):  # whoever reads has seen enough
            for piece in pieces:
                theirs.sendall(piece)
            if end:
                theirs.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=answer)
    thread.start()
    connection = Connection(ours, deque(), 0.0)
    try:
        yield Exchange(connection, lambda *_: None)
    finally:
        connection.close()
        join(thread)
        theirs.close()


def answered(exchange: Exchange) -> tuple[int, bytes]:
    exchange.send(b"POST / HTTP/1.1\r\n\r\n")
    exchange.read_head()
    return exchange.status, b"".join(packets(exchange))


@pytest.mark.parametrize("interim", [b"", INTERIM])
@pytest.mark.parametrize(("answer", "stays"), [(LENGTH, True), (CHUNKED, True), (CLOSED, False)])
def test_an_answer_is_the_same_wherever_it_is_cut(
    answer: bytes, stays: bool, interim: bytes
) -> None:
    whole = interim + answer
    for at in range(1, len(whole)):
        with answering(whole[:at], whole[at:], end=not stays) as exchange:
            assert answered(exchange) == (200, BODY)
            assert exchange.headers["x-two"] == "a, b"
            assert "link" not in exchange.headers
            assert exchange.is_reusable == stays


def test_an_answer_is_the_same_byte_by_byte() -> None:
    with answering(*(bytes([byte]) for byte in CHUNKED)) as exchange:
        assert answered(exchange) == (200, BODY)


@pytest.mark.parametrize("answer", [LENGTH, CHUNKED])
def test_an_answer_that_ends_anywhere_before_its_end_is_broken(answer: bytes) -> None:
    whole = answer.removesuffix(b"trailer: x\r\n\r\n")
    for at in range(len(whole)):
        with answering(whole[:at], end=True) as exchange, pytest.raises(BrokenResponse):
            answered(exchange)


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n3\nabcdef\n0\n\n",
    ],
)
def test_what_is_no_answer_is_broken(answer: bytes) -> None:
    with answering(answer, end=True) as exchange, pytest.raises(BrokenResponse):
        answered(exchange)


#: Whole answers that are framed a little wrong.
ODD = {
    "both lengths": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n%c"
    ),
    "both, the other way round": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 99\r\n\r\n%c"
    ),
    "a length twice": b"HTTP/1.1 200 OK\r\nContent-Length: 17\r\nContent-Length: 17\r\n\r\n%b",
    "a length twice in one": b"HTTP/1.1 200 OK\r\nContent-Length: 17, 17\r\n\r\n%b",
    "lines without CR": b"HTTP/1.1 200 OK\nContent-Length: 17\nX-Two: a\n\n%b",
    "chunks without CR": b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n%l",
    "only chunks without CR": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%l",
    "a blank after a chunk's size": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s",
    "identity": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n%b",
    "identity and a length": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 17\r\n\r\n%b"
    ),
    "a folded header": b"HTTP/1.1 200 OK\r\nX-Two: a\r\n b\r\nContent-Length: 17\r\n\r\n%b",
    "a blank before a colon": b"HTTP/1.1 200 OK\r\nContent-Length : 17\r\n\r\n%b",
    "a line without a colon": b"HTTP/1.1 200 OK\r\nOops\r\nContent-Length: 17\r\n\r\n%b",
    "a control character": b"HTTP/1.1 200 OK\r\nX: a\x01b\r\nContent-Length: 17\r\n\r\n%b",
    "lower case": b"http/1.1 200 ok\r\nContent-Length: 17\r\n\r\n%b",
    "another version": b"HTTP/2 200 OK\r\nContent-Length: 17\r\n\r\n%b",
    "two blanks": b"HTTP/1.1  200 OK\r\nContent-Length: 17\r\n\r\n%b",
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\nContent-Length: 17\r\n\r\n%b",
    "chunks in HTTP/1.0": b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%c",
    "odd after an interim one": INTERIM + b"HTTP/1.1 200 OK\nContent-Length: 17\n\n%b",
}
BODIES = {
    b"%b": BODY,
    b"%c": b'5;ext=1\r\n{"tex\r\nc\r\nt": "caf\xc3\xa9"}\r\n0\r\n\r\n',
    b"%l": b'5\n{"tex\nc\nt": "caf\xc3\xa9"}\n0\ntrailer: x\n\n',
    b"%s": b'5 \r\n{"tex\r\nc  \r\nt": "caf\xc3\xa9"}\r\n0 \r\n\r\n',
}


def odd(name: str) -> bytes:
    raw = ODD[name]
    return raw[:-2] + BODIES[raw[-2:]]


@pytest.mark.parametrize("name", ODD)
def test_an_answer_framed_a_little_wrong_is_read_and_its_connection_not_used_again(
    name: str,
) -> None:
    assert len(BODY) == 17
    whole = odd(name)
    for at in range(len(whole)):
        pieces = [whole] if at == 0 else [whole[:at], whole[at:]]
        with answering(*pieces, end=True) as exchange:
            assert answered(exchange) == (200, BODY)
            if at == 0:  # cut, a blank after a size may pass as if it were none
                assert not exchange.is_reusable


@pytest.mark.parametrize("name", [name for name in ODD if name != "identity"])
def test_it_is_broken_where_it_ends_early(name: str) -> None:
    whole = odd(name).removesuffix(b"trailer: x\n\n")
    for at in range(len(whole) - 2):
        with answering(whole[:at], end=True) as exchange, pytest.raises(BrokenResponse):
            answered(exchange)


@pytest.mark.parametrize("head", [b"no reason", b"HTTP/1.1 200\r\n", b"\r\nHTTP/1.1 200 \r\n"])
def test_what_is_odd_but_allowed_costs_no_connection(head: bytes) -> None:
    whole = head.replace(b"no reason", b"HTTP/1.1 200\r\n") + b"Content-Length: 17\r\n\r\n" + BODY
    with answering(whole) as exchange:
        assert answered(exchange) == (200, BODY)
        assert exchange.is_reusable


@pytest.mark.parametrize(
    ("rest", "body"),
    [
        (b"", b""),
        (b"Retry-After: 7\r\n", b""),
        (b"Retry-After: 7\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nno", b"no"),
        (b"Retry-After: 7\r\ncontent-length: x\r\n\r\nno", b"no"),
        (b"Retry-After: 7\r\ncontent-length: 9\r\n\r\nno", b"no"),
        (b"Retry-After: 7\r\ntransfer-encoding: chunked\r\n\r\n2\r\nno\r\nzz\r\n", b"no"),
    ],
)
def test_an_error_counts_by_its_status_whatever_follows_it(rest: bytes, body: bytes) -> None:
    with answering(b"HTTP/1.1 429 Slow down\r\n" + rest, end=True) as exchange:
        exchange.send(b"POST / HTTP/1.1\r\n\r\n")
        exchange.read_head()
        assert exchange.status == 429
        found: list[bytes] = []
        with contextlib.suppress(BrokenResponse):
            found.extend(packets(exchange))
        assert b"".join(found) == body
        assert not exchange.is_reusable
        assert exchange.headers.get("retry-after", "7") == "7"


@pytest.mark.parametrize(
    ("answer", "words", "status"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "not HTTP", None),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", "length", 200),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "not valid HTTP", 200),
        (b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", "HTTP", 101),
        (b"HTTP/1.1 200 OK\r\nx: y\r\n", "broke off", 200),
        (b"", "broke off", None),
    ],
)
def test_the_words_say_what_was_wrong_and_the_status_if_there_was_one(
    answer: bytes, words: str, status: int | None
) -> None:
    with answering(answer, end=True) as exchange:
        with pytest.raises(BrokenResponse, match=words) as caught:
            answered(exchange)
        assert caught.value.status == status


def test_another_protocol_is_noticed_at_once() -> None:
    answer = answering(b"SSH-2.0-OpenSSH_9.2")
    with answer as exchange, pytest.raises(BrokenResponse, match="not HTTP"):
        answered(exchange)


def test_all_that_came_before_an_error_is_given_on_first() -> None:
    broken = CHUNKED.replace(b"0\r\ntrailer: x\r\n\r\n", b"zz\r\n")
    for at in range(1, len(broken)):
        with answering(broken[:at], broken[at:]) as exchange:
            exchange.send(b"POST / HTTP/1.1\r\n\r\n")
            exchange.read_head()
            found: list[bytes] = []
            with pytest.raises(BrokenResponse):
                found.extend(packets(exchange))
            assert b"".join(found) == BODY


def test_endless_headers_are_broken() -> None:
    lines = (b"x-%d: %s\r\n" % (at, b"y" * 1000) for at in range(HEAD_LIMIT // 500))
    head = b"HTTP/1.1 200 OK\r\n"
    with answering(head, *lines) as exchange, pytest.raises(BrokenResponse, match="too large"):
        answered(exchange)


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
def test_an_answer_without_a_body_ends_with_its_headers(status: bytes) -> None:
    with answering(b"HTTP/1.1 " + status + b"\r\n\r\n") as exchange:
        assert answered(exchange) == (int(status[:3]), b"")


@pytest.mark.parametrize(
    "answer",
    [
        LENGTH + LENGTH,
        LENGTH + b"HTTP",
        LENGTH.replace(b"X-Two: a", b"connection: close\r\nx: y"),
        LENGTH.replace(b"HTTP/1.1", b"HTTP/1.0"),
        LENGTH.replace(b"X-Two: a", b"connection: close\r\nx: y") + b"noise",
    ],
)
def test_a_connection_that_is_out_of_step_or_ends_is_not_used_again(answer: bytes) -> None:
    with answering(answer) as exchange:
        assert answered(exchange) == (200, BODY)
        assert not exchange.is_reusable


@pytest.mark.parametrize(
    ("headers", "codings"),
    [
        (b"transfer-encoding: chunked", ""),
        (b"transfer-encoding: gzip, chunked", ",gzip"),
        (b"transfer-encoding: GZIP , Chunked\r\ncontent-encoding: br", "br,gzip"),
        (b"content-encoding: br\r\ncontent-length: 0", "br"),
        (b"content-length: 0", ""),
    ],
)
def test_the_codings_of_a_body_are_those_besides_its_chunks(headers: bytes, codings: str) -> None:
    answer = b"HTTP/1.1 200 OK\r\n" + headers + b"\r\n\r\n0\r\n\r\n"
    with answering(answer) as exchange:
        exchange.send(b"POST / HTTP/1.1\r\n\r\n")
        exchange.read_head()
        assert codings_in(exchange.headers).replace(" ", "") == codings


def test_a_connection_serves_one_exchange_after_the_other() -> None:
    other = LENGTH.replace(b"200 OK", b"500 Oops").replace(b"X-Two", b"Y-Two")
    ours, theirs = socket.socketpair()
    connection, released = Connection(ours, deque(), 0.0), list[Connection]()
    for answer, status in ((LENGTH, 200), (other, 500), (CHUNKED, 200)):
        theirs.sendall(answer)
        exchange = Exchange(connection, lambda connection, _: released.append(connection))
        assert answered(exchange) == (status, BODY)
        assert ("y-two" in exchange.headers) == (status == 500)
        exchange.close()
    assert released == [connection] * 3
    connection.close()
    theirs.close()


@pytest.mark.parametrize("answer", [LENGTH, CHUNKED])
def test_a_connection_whose_answer_is_not_read_whole_serves_no_other(answer: bytes) -> None:
    with answering(answer) as exchange:
        exchange.send(b"POST / HTTP/1.1\r\n\r\n")
        exchange.read_head()
        while not exchange._parser.is_complete:  # all of it has arrived; nobody has taken it
            exchange._read()
        assert not exchange.is_reusable
        assert b"".join(packets(exchange)) == BODY
        assert exchange.is_reusable


def test_a_connection_is_not_used_again_in_the_middle_of_an_answer() -> None:
    with answering(LENGTH[:-1]) as exchange:
        exchange.send(b"POST / HTTP/1.1\r\n\r\n")
        exchange.read_head()
        assert BODY.startswith(exchange.read1())
        assert not exchange.is_reusable
