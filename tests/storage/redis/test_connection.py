"""Connections to a real Valkey, and to servers that do not respond."""

import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from redis import ReadOnlyError

from app.settings import ConfigError
from app.storage.redis.connection import CONNECTIONS, PROBE_S, connect, write_probe
from app.storage.redis.keys import PROBE
from app.usage.redis.stream import EventStream
from app.vocabulary.errors import StreamUnavailable
from tests.support.events import usage_event
from tests.support.processes import run_all
from tests.support.services.valkey import Valkey


def publish_ten(stream: EventStream) -> None:
    for _ in range(10):
        stream.publish(usage_event())


def test_many_threads_share_the_connections(redis_url: str) -> None:
    with connect(f"{redis_url}?client_name=threads", timeout_s=60.0) as client:
        stream = EventStream(client)
        run_all(Thread(target=publish_ten, args=(stream,)) for _ in range(4 * CONNECTIONS))
        assert stream.backlog() == 40 * CONNECTIONS
        ours = [c for c in client.client_list() if c["name"] == "threads"]
    assert 1 <= len(ours) <= CONNECTIONS


SECRET_URL = "redis://someone:hunter2@127.0.0.1:{port}/0"


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that accepts connections and never responds, as a paused Redis does."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
        yield server.getsockname()[1]


def test_a_silent_redis_is_given_up_without_its_url(silent_port: int) -> None:
    url = SECRET_URL.format(port=silent_port)
    with connect(url, timeout_s=0.2) as client, pytest.raises(StreamUnavailable) as error:
        EventStream(client).backlog()
    assert_no_secret(error.value, silent_port)


def test_a_refused_connection_is_tried_once_and_reported_without_its_url() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    url = SECRET_URL.format(port=port)
    with connect(url, timeout_s=5.0) as client, pytest.raises(StreamUnavailable) as error:
        EventStream(client).publish(usage_event())
    assert_no_secret(error.value, port)


def test_a_rejected_password_is_reported_without_its_url(valkey: Valkey) -> None:
    with (
        connect(SECRET_URL.format(port=valkey.port), timeout_s=10.0) as client,
        pytest.raises(StreamUnavailable) as error,
    ):
        EventStream(client).publish(usage_event())
    assert_no_secret(error.value, valkey.port)


def assert_no_secret(error: StreamUnavailable, port: int) -> None:
    """The message reaches callers."""
    assert error.status == 503
    for secret in ("hunter2", "someone", "127.0.0.1", str(port)):
        assert secret not in error.message


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:6379",
        "http://hunter2@host",
        "redis://someone:hunter2/x@host:6379/0",
        "redis://someone:hunter2@host:6379/0?tmeout=3",
        "rediss://someone:hunter2@host:6379/0?socket_timeout=long",
    ],
)
def test_an_invalid_url_is_rejected_without_quoting_it(url: str) -> None:
    with pytest.raises(ConfigError, match="REDIS_URL") as error:
        connect(url, timeout_s=1.0)
    assert "hunter2" not in str(error.value)
    assert error.value.__suppress_context__


def test_an_unknown_option_is_named() -> None:
    for scheme in ("redis://:hunter2@host:6379/0", "redis+sentinel://:hunter2@host/m"):
        with pytest.raises(ConfigError, match="unknown option, `tmeout`: correct or remove it"):
            connect(f"{scheme}?tmeout=3", timeout_s=1.0)


def test_certificates_are_checked_unless_the_url_turns_that_off() -> None:
    def kwargs(url: str) -> dict[str, object]:
        with connect(url, timeout_s=1.0) as client:
            return dict(client.connection_pool.connection_kwargs)

    assert "ssl_cert_reqs" not in kwargs("rediss://host:6380/0")  # redis-py requires by default
    assert kwargs("rediss://host:6380/0?ssl_cert_reqs=none")["ssl_cert_reqs"] == "none"


def test_a_probe_is_written_for_a_while(valkey: Valkey) -> None:
    with connect(valkey.url, timeout_s=10.0) as client:
        write_probe(client)
        assert 0 < client.ttl(PROBE) <= PROBE_S


def test_a_probe_fails_on_a_redis_that_does_not_accept_writes(tmp_path: Path) -> None:
    server = Valkey(tmp_path).start()
    try:
        with connect(server.url, timeout_s=10.0) as client:
            client.replicaof("127.0.0.1", "1")
            with pytest.raises(ReadOnlyError):
                write_probe(client)
    finally:
        server.kill()
