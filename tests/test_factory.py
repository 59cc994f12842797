"""The application as a whole."""

import dataclasses
import threading
from pathlib import Path
from typing import Literal

import pytest
from flask import Response
from redis import Redis

from app.container import EXTENSION
from app.factory import create_app
from app.settings import ConfigError, Settings
from app.storage.redis.keys import EVENTS, OPEN
from tests.support.gateway import running, with_account
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey, as_cluster

ASK = {"model": "sim/m", "prompt": "one two"}


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_that_cannot_be_finished_is_recorded(settings: Settings, stream: bool) -> None:
    app = create_app(settings)

    @app.after_request
    def fail(response: Response) -> Response:
        raise RuntimeError(response.status)

    with with_account("", settings) as gateway, Redis.from_url(settings.redis_url) as redis:
        headers = {"x-api-key": gateway.api_key}
        answer = app.test_client().post(
            "/v5/completions", json={**ASK, "stream": stream}, headers=headers
        )
        assert answer.status_code == 500
        assert (redis.hlen(OPEN), redis.xlen(EVENTS)) == (0, 1)
    app.extensions[EXTENSION].close()


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("adapter", ["tollgate", "requests"])
def test_completions_come_through_either_http_adapter(
    settings: Settings, adapter: Literal["tollgate", "requests"], stream: bool
) -> None:
    with running(dataclasses.replace(settings, http_adapter=adapter)) as gateway:
        answer = gateway.post({**ASK, "stream": stream})
        assert (answer.status_code, "word0" in answer.text) == (200, True)
        event = gateway.event()
    assert (event.status, event.source) == ("completed", "vendor")


def test_an_application_on_a_cluster_does_not_start(settings: Settings, tmp_path: Path) -> None:
    server = Valkey(tmp_path, more=as_cluster()).start()
    try:
        with pytest.raises(ConfigError, match="leads to a cluster"):
            create_app(dataclasses.replace(settings, redis_url=server.url))
    finally:
        server.kill()


def test_an_application_that_is_closed_has_no_connection_left(
    settings: Settings, own_valkey: Valkey
) -> None:
    """Whoever collects the garbage would find sockets that nobody has closed."""

    def connections(client: "Redis") -> int:
        return len(client.client_list())

    with Redis.from_url(own_valkey.url) as client:
        with running(dataclasses.replace(settings, redis_url=own_valkey.url)) as gateway:
            assert gateway.post(ASK).status_code == 200
            assert connections(client) >= 3  # two of them are the app's
        wait_until(lambda: connections(client) == 1)


def test_an_application_that_is_closed_has_no_thread_left(settings: Settings) -> None:
    def threads() -> set[threading.Thread]:
        return {it for it in threading.enumerate() if it.name in ("prices", "watchdog")}

    before = threads()
    with running(settings) as gateway:
        assert gateway.post(ASK).status_code == 200
        assert {it.name for it in threads() - before} == {"prices", "watchdog"}
    wait_until(lambda: not threads() - before)
