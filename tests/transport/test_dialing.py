"""Opening a TCP connection: several addresses share one time limit."""

import contextlib
import socket
import time

import pytest

from app.transport.dialing import dial
from app.transport.dns import LookUpTimeout, Resolver
from tests.transport.name_server import HANGING, NameServer


def test_a_connection_has_its_options_and_the_rest_of_the_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        options = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
        with dial(Resolver(), "127.0.0.1", port, 5.0, options) as sock:
            assert sock.getpeername() == ("127.0.0.1", port)
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            assert 0 < sock.gettimeout() <= 5.0


def test_without_time_no_address_is_tried() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        with pytest.raises(TimeoutError):
            dial(Resolver(), "127.0.0.1", server.getsockname()[1], 0.0, [])
        server.settimeout(0.1)
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.usefixtures("names")
def test_the_look_up_counts_as_connecting() -> None:
    started_s = time.monotonic()
    with pytest.raises(LookUpTimeout):
        dial(Resolver(), HANGING, 80, 0.2, [])
    assert time.monotonic() - started_s < 5


def test_each_address_has_its_share_of_the_time(names: NameServer) -> None:
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.socket())
        full.bind(("127.0.0.2", 0))
        full.listen(0)
        port = full.getsockname()[1]
        for _ in range(4):  # fill its queue: the next connection is not answered
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.2", port))
        good = stack.enter_context(socket.create_server(("127.0.0.3", port)))
        names.addresses = ["127.0.0.2", "127.0.0.3"]
        sock = stack.enter_context(dial(Resolver(), "two.example", port, 5.0, []))
        assert sock.getpeername() == good.getsockname()


def test_the_last_address_says_why_none_answered(names: NameServer) -> None:
    names.addresses = ["127.0.0.2", "127.0.0.3"]
    with pytest.raises(ConnectionRefusedError):
        dial(Resolver(), "two.example", 1, 5.0, [])
    assert names.asked["two.example"] == 1
