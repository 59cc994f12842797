"""The address of the client that sent a request."""

import pytest
from flask import Flask

from app.observability.client_address import source_address

PEER = "192.0.2.9"


def address(proxies: int, *forwarded: str) -> str | None:
    """Return the address of a request from PEER with `x-forwarded-for` headers."""
    headers = [("x-forwarded-for", it) for it in forwarded]
    environ = {"REMOTE_ADDR": PEER}
    with Flask("test").test_request_context(headers=headers, environ_base=environ):
        return source_address(proxies)


def test_without_proxies_of_our_own_the_header_is_never_trusted() -> None:
    assert address(0) == address(0, "203.0.113.5") == PEER


@pytest.mark.parametrize(
    ("proxies", "forwarded", "found"),
    [
        (1, ["203.0.113.5"], "203.0.113.5"),
        (1, ["198.51.100.1, 203.0.113.5"], "203.0.113.5"),
        (2, ["198.51.100.1, 203.0.113.5, 192.0.2.1"], "203.0.113.5"),
        (2, ["198.51.100.1", "203.0.113.5", "192.0.2.1"], "203.0.113.5"),
    ],
)
def test_the_client_is_what_the_outermost_of_our_proxies_saw(
    proxies: int, forwarded: list[str], found: str
) -> None:
    assert address(proxies, *forwarded) == found


@pytest.mark.parametrize("forwarded", [[], ["203.0.113.5"], [""]])
def test_a_request_that_passed_fewer_proxies_has_its_peers_address(forwarded: list[str]) -> None:
    assert address(2, *forwarded) == PEER


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("203.0.113.5:4711", "203.0.113.5"),
        ("2001:DB8::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("[2001:db8::1]:4711", "2001:db8::1"),
        ("unknown", PEER),
        ("203.0.113.5 injected=1", PEER),
        ("", PEER),
    ],
)
def test_an_address_may_have_a_port_and_other_text_is_ignored(written: str, found: str) -> None:
    assert address(1, written) == found


def test_a_request_over_a_socket_file_has_no_address() -> None:
    with Flask("test").test_request_context(environ_base={"REMOTE_ADDR": ""}):
        assert source_address(0) is None
