"""Looking up hosts while a name server hangs."""

import socket
import threading
import time
from typing import Any

import pytest
from urllib3.util import connection

from app.transport import dns
from app.transport.dns import LOOK_UPS_LIMIT, LookUpTimeout, Resolver
from app.transport.opening import NotConnected
from app.transport.session import VendorSession
from tests.support.processes import join
from tests.transport.name_server import HANGING, NameServer


def test_many_callers_of_a_host_share_few_look_ups_and_hold_up_no_other(
    names: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dns, "SLOW_S", 0.05)
    resolver, found = Resolver(), list[Any]()

    def ask() -> None:
        found.append(resolver.addresses(HANGING, 443, 30.0))

    threads = [threading.Thread(target=ask) for _ in range(60)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        assert resolver.addresses("other.example", 443, 30.0)[0][4] == ("127.0.0.1", 443)
        time.sleep(0.05)
    assert resolver.addresses("::1", 443, 30.0)[0][4] == ("::1", 443)
    with pytest.raises(LookUpTimeout):
        resolver.addresses(HANGING, 443, 0.01)
    assert names.asked[HANGING] == LOOK_UPS_LIMIT
    assert "::1" not in names.asked
    names.released.set()
    join(*threads)
    assert [addresses[0][4] for addresses in found] == [("127.0.0.1", 443)] * 60


def test_an_address_is_looked_up_again_for_the_next_connection(names: NameServer) -> None:
    resolver = Resolver()
    assert resolver.addresses("a.example", 80, 5.0)[0][4] == ("127.0.0.1", 80)
    names.addresses = ["127.0.0.9"]
    assert resolver.addresses("a.example", 80, 5.0)[0][4] == ("127.0.0.9", 80)


def test_a_failure_is_everybodys_and_does_not_stay(names: NameServer) -> None:
    resolver = Resolver()
    for count in (1, 2):
        with pytest.raises(socket.gaierror) as caught:
            resolver.addresses("unknown.invalid", 80, 5.0)
        assert caught.value.errno == socket.EAI_NONAME
        assert names.asked["unknown.invalid"] == count


def test_a_look_up_that_hangs_is_not_waited_for_when_its_name_server_has_recovered(
    names: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dns, "SLOW_S", 0.0)
    resolver = Resolver()
    with pytest.raises(LookUpTimeout):
        resolver.addresses(HANGING, 80, 0.05)
    hung = names.released
    names.released = threading.Event()
    names.released.set()  # for those that ask from now on
    assert resolver.addresses(HANGING, 80, 5.0)
    hung.set()


@pytest.mark.usefixtures("names")
def test_a_request_does_not_wait_for_a_look_up_that_hangs() -> None:
    started_s = time.monotonic()
    with VendorSession({}) as session, pytest.raises(NotConnected):
        session.post(f"http://{HANGING}/", timeout=(0.2, 5.0))
    assert time.monotonic() - started_s < 5


@pytest.mark.parametrize(("has_ipv6", "family"), [(True, 0), (False, socket.AF_INET)])
def test_a_host_without_ipv6_looks_up_no_such_address(
    names: NameServer, monkeypatch: pytest.MonkeyPatch, has_ipv6: bool, family: int
) -> None:
    monkeypatch.setattr(connection, "HAS_IPV6", has_ipv6)
    Resolver().addresses("a.example", 80, 5.0)
    assert names.family == family
