"""Fixtures: the two adapters that vendor calls may be sent through."""

from collections.abc import Callable
from typing import cast

import pytest

from app.transport.call import Transport
from app.transport.session import ADAPTERS, AdapterName
from app.transport.watchdog import Watchdog

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
