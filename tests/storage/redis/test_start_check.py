"""Whether REDIS_URL can work: a URL that cannot is told apart from a server that is down."""

from collections.abc import Iterator
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread

import pytest
from redis import Redis

from app.settings import ConfigError
from app.storage.redis.start_check import check_redis
from app.vocabulary.errors import StreamUnavailable
from tests.support.names import need_name_server
from tests.support.ports import free_port
from tests.support.services.tls import TLSProxy
from tests.support.services.valkey import Valkey

SECRET = "hunter2"


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[Valkey]:
    """A Valkey with a password."""
    server = Valkey(tmp_path, password=SECRET).start()
    yield server
    server.stop()


def fault(url: str) -> str:
    """Return why a URL is refused."""
    with pytest.raises(ConfigError) as caught:
        check_redis(url)
    assert SECRET not in str(caught.value)
    return str(caught.value)


def test_a_server_that_can_be_used_reports_itself(valkey: Valkey) -> None:
    assert check_redis(valkey.url)["tcp_port"] == valkey.port


def test_a_login_that_is_rejected_is_told_apart_from_a_command_that_is(valkey: Valkey) -> None:
    at = f"127.0.0.1:{valkey.port}"
    for login in ("", ":wrong@", "nobody:wrong@"):
        assert fault(f"redis://{login}{at}/0").startswith(f"Redis at {at} rejects the login (")
    with Redis.from_url(valkey.url) as redis:
        redis.acl_setuser("reader", enabled=True, passwords=["+pw"], categories=["+@read"])
        commands = ["+set", "+ping", "+exists", "+select"]
        redis.acl_setuser("writer", True, passwords=["+pw"], keys=["*"], commands=commands)
    assert "denies this user a command" in fault(f"redis://reader:pw@{at}/0")
    assert check_redis(f"redis://writer:pw@{at}/0") == {}


def test_a_database_that_is_missing_is_refused(valkey: Valkey) -> None:
    assert "no database of this number" in fault(valkey.url.removesuffix("0") + "99")


def test_a_server_with_the_wrong_scheme_is_refused(valkey: Valkey, tmp_path: Path) -> None:
    proxy = TLSProxy(tmp_path, valkey.port)
    try:
        url = f"rediss://:{SECRET}@127.0.0.1:{proxy.port}/0"
        assert "is not trusted" in fault(url)
        trusted = f"{url}?ssl_ca_certs={proxy.certificate}"
        assert check_redis(trusted)["tcp_port"] == valkey.port
    finally:
        proxy.stop()


def test_a_host_that_has_no_address_is_refused() -> None:
    need_name_server()
    assert fault("redis://redis.invalid:1/0").startswith("the host of redis.invalid:1 cannot be")


@pytest.mark.parametrize("login", [":a/hunter2@", ":a#hunter2@", ":a?hunter2@", "u:1/hunter2@"])
def test_a_password_that_is_not_quoted_is_refused_and_not_shown(login: str) -> None:
    assert fault(f"redis://{login}127.0.0.1:{free_port()}/0").startswith("in the password, write /")


@pytest.mark.parametrize("option", ["ssl_ca_certs", "ssl_certfile", "ssl_keyfile"])
def test_a_file_that_cannot_be_read_is_refused(option: str, tmp_path: Path) -> None:
    for path, reason in ((tmp_path, "Is a directory"), (tmp_path / "none", "No such file")):
        url = f"rediss://:{SECRET}@127.0.0.1:{free_port()}/0?{option}={path}"
        assert f"`{option}` names in the URL cannot be read ({reason}" in fault(url)


class Closes(BaseRequestHandler):
    """Reads a command, and closes the connection, as PostgreSQL does."""

    def handle(self) -> None:
        self.request.recv(100)


def test_a_server_that_ends_each_connection_is_named() -> None:
    with ThreadingTCPServer(("127.0.0.1", 0), Closes) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"redis://:{SECRET}@127.0.0.1:{server.server_address[1]}/0"
        with pytest.raises(StreamUnavailable, match="it closes the connection: check that this is"):
            check_redis(url)
        server.shutdown()


def test_a_server_that_is_down_is_unavailable(valkey: Valkey) -> None:
    valkey.pause()
    url = f"redis://:{SECRET}@127.0.0.1:{free_port()}/0"
    sentinel = f"redis+sentinel://:{SECRET}@127.0.0.1:{free_port()}/tollgate"
    expected = {
        url: "Connection refused",
        valkey.url: "no response in time",
        sentinel: "no sentinel knows",
    }
    for address, reason in expected.items():
        with pytest.raises(StreamUnavailable, match=reason) as caught:
            check_redis(address)
        assert SECRET not in caught.value.message
    valkey.resume()
