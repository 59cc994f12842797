"""`/livez` and `/readyz`."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from app.settings import Settings
from tests.support.gateway import running
from tests.support.services.valkey import Valkey


@pytest.fixture
def own_valkey(tmp_path: Path) -> Iterator[Valkey]:
    """A Valkey of the test's own, to stop."""
    directory = tmp_path / "valkey"
    directory.mkdir()
    server = Valkey(directory, persistent=True).start()
    yield server
    server.kill()


def ready(base_url: str) -> requests.Response:
    return requests.get(base_url.replace("/v5", "/readyz"), timeout=60)


@pytest.mark.parametrize(("policy", "status"), [("serve", 200), ("refuse", 503)])
def test_without_redis_a_process_is_ready_where_requests_are_served_without_it(
    settings: Settings, own_valkey: Valkey, policy: str, status: int
) -> None:
    own = dataclasses.replace(settings, redis_url=own_valkey.url, on_redis_down=policy)  # type: ignore[arg-type]
    with running(own) as gateway:
        first = ready(gateway.base_url)
        assert (first.status_code, first.json()["alarms"]) == (200, {})
        own_valkey.kill()
        response = ready(gateway.base_url)
        body = response.json()
        assert response.status_code == gateway.post({"model": "sim/m", "prompt": "x"}).status_code
        assert response.status_code == status
        assert body["status"] == ("ready" if status == 200 else "not ready")
        assert "unavailable" in body["redis"]
        assert body["ledger"] == "ok"
        assert "redis" in body["alarms"]
        own_valkey.start()
        assert ready(gateway.base_url).status_code == 200


def test_a_redis_that_never_answered_may_be_the_wrong_one(
    settings: Settings, own_valkey: Valkey
) -> None:
    with running(dataclasses.replace(settings, redis_url=own_valkey.url)) as gateway:
        own_valkey.kill()
        assert ready(gateway.base_url).status_code == 503
        own_valkey.start()
        assert ready(gateway.base_url).status_code == 200


def test_a_ledger_without_its_tables_is_not_ready(settings: Settings) -> None:
    with running(settings) as gateway, gateway.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM alembic_version")
        connection.commit()
        response = ready(gateway.base_url)
    assert response.status_code == 503
    assert "tollgate db upgrade" in response.json()["ledger"]
