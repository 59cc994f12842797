"""Worker and beat, when sentinels promote the replica of their Redis."""

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import RedisError

from app.settings import Settings
from app.storage.redis.connection import connect
from app.storage.redis.keys import EVENTS
from app.storage.sql.engine import create_engine
from app.usage.redis.stream import EventStream
from app.vocabulary.errors import StreamUnavailable
from tests.support.events import usage_event
from tests.support.services.celery_worker import ALONE, CeleryWorker
from tests.support.services.polling import wait_until
from tests.support.services.relay import relay
from tests.support.services.sentinels import MASTER, Sentinel, Standby
from tests.support.services.tls import TLSProxy
from tests.support.services.valkey import Valkey
from tests.workers.contents import entry_count


class EitherProxy(TLSProxy):
    """Passes on connections without TLS, too: sentinels have none here."""

    def shows_certificate_of(self, other: TLSProxy) -> None:
        """Have one certificate stand for both."""
        self._context = other._context

    def _relay(self, connection: socket.socket) -> None:
        if connection.recv(1, socket.MSG_PEEK) == b"\x16":  # a TLS handshake
            super()._relay(connection)
            return
        with connection, socket.create_connection(("127.0.0.1", self._target)) as server:
            relay(connection, server)


def publish(stream: EventStream) -> None:
    """Publish an event as soon as Redis accepts it."""

    def is_published() -> bool:
        with contextlib.suppress(StreamUnavailable, RedisError):
            stream.publish(usage_event())
            return True
        return False

    wait_until(is_published)


def test_worker_and_beat_follow_the_primary_that_is_killed_and_paused(
    tmp_path: Path, sqlite_url: str
) -> None:
    standby = Standby(tmp_path, password="hard-to-guess", sentinel_password="another-secret")
    env = {"REDIS_URL": standby.url, "DATABASE_URL": sqlite_url}
    worker = CeleryWorker(tmp_path / "worker.log", env, ALONE)
    engine = create_engine(sqlite_url)
    try:
        with connect(standby.url, 2.0) as redis:
            stream = EventStream(redis)
            worker.start()
            for number, end in enumerate(["kill", "pause", "kill"]):
                publish(stream)
                wait_until(lambda: not redis.xlen(EVENTS))
                assert entry_count(engine) >= 2 * number + 1
                standby.wait_until_whole()
                former = standby.primary
                getattr(former, end)()
                standby.wait_until_promoted(former)
                publish(stream)
                wait_until(lambda: not redis.xlen(EVENTS))
                former.resume() if end == "pause" else former.start()
        assert worker.stop() == 0
        assert "hard-to-guess" not in worker.log()
        assert "another-secret" not in worker.log()
    finally:
        worker.kill()
        engine.dispose()
        standby.stop()


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A server and a sentinel behind TLS: their address, and whom to trust."""
    login = ("another-secret", "hard-to-guess")
    with contextlib.ExitStack() as stack:
        server = Valkey(tmp_path, password=login[1]).start()
        stack.callback(server.kill)
        to_server = EitherProxy(tmp_path, server.port)
        stack.callback(to_server.stop)
        sentinel = Sentinel(tmp_path / "sentinel", to_server.port, *login).start()
        stack.callback(sentinel.kill)
        to_sentinel = EitherProxy(tmp_path / "sentinel", sentinel.port)
        to_sentinel.shows_certificate_of(to_server)
        stack.callback(to_sentinel.stop)
        address = f"rediss+sentinel://:hard-to-guess@127.0.0.1:{to_sentinel.port}/{MASTER}/0"
        yield f"{address}?sentinel_password=another-secret", to_server.certificate


@pytest.mark.parametrize("trust", ["none", "their certificates", "nobody"])
def test_sentinels_and_servers_are_reached_behind_tls_with_their_passwords(
    secured: tuple[str, Path], tmp_path: Path, sqlite_url: str, trust: str
) -> None:
    address, trusted = secured
    env = {"REDIS_URL": address, "DATABASE_URL": sqlite_url}
    if trust == "none":
        env["TOLLGATE_REDIS_CERT"] = "none"
    elif trust == "their certificates":
        env["REDIS_URL"] += f"&ssl_ca_certs={trusted}"
    with connect(Settings.from_env(env).redis_url, 10.0) as redis:
        if trust == "nobody":
            with pytest.raises(StreamUnavailable, match="MasterNotFoundError"):
                EventStream(redis).backlog()
            return
        EventStream(redis).publish(usage_event())
        worker = CeleryWorker(tmp_path / "worker.log", env, ALONE)
        try:
            worker.start()
            wait_until(lambda: not redis.xlen(EVENTS))
            assert worker.stop() == 0
        finally:
            worker.kill()
    assert "hard-to-guess" not in worker.log()
    assert "another-secret" not in worker.log()
