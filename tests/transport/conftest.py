"""Fixtures: the two adapters that vendor calls may be sent through, and a name server."""

import socket
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from app.transport.call import Transport
from app.transport.session import ADAPTERS, AdapterName, VendorSession
from app.transport.watchdog import Watchdog
from tests.transport.name_server import NameServer

#: Of tests of what requests' own adapter cannot do: deadlines, and cancelling before the headers.
ours_alone = pytest.mark.parametrize("adapter", ["tollgate"])

#: Makes a transport in an environment.
MakeTransport = Callable[..., Transport]


@pytest.fixture(params=list(ADAPTERS))
def adapter(request: pytest.FixtureRequest) -> AdapterName:
    """Run the test with each adapter: ours, and requests' own."""
    return cast(AdapterName, request.param)


@pytest.fixture
def transport_in(adapter: AdapterName) -> MakeTransport:
    """Return a function that makes a transport in the environment that its arguments are."""
    return lambda **env: Transport(Watchdog(tick_s=0.02), env, adapter)


@pytest.fixture
def transport(transport_in: MakeTransport) -> Transport:
    """Return a transport in an empty environment."""
    return transport_in()


@pytest.fixture
def session(adapter: AdapterName) -> Iterator[VendorSession]:
    """Return a session in an empty environment."""
    with VendorSession({}, adapter) as session:
        yield session


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[NameServer]:
    """Return a name server that answers all lookups of the process."""
    server = NameServer()
    monkeypatch.setattr(socket, "getaddrinfo", server)
    yield server
    server.released.set()
