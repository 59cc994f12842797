"""The Celery application: what is configured, and where the broker is."""

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from celery.app.defaults import NAMESPACES, flatten
from redis import Redis

from app.settings import ROOT
from tests.support.services.valkey import Valkey, as_cluster


@pytest.fixture
def workers_celery(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module `workers.celery_app`, which reads the environment when it is imported."""
    monkeypatch.setenv("REDIS_URL", redis_url)
    import workers.celery_app

    return workers.celery_app


def test_an_application_is_made_of_settings(workers_celery: ModuleType) -> None:
    settings = replace(workers_celery.settings, redis_url="rediss://host:6380/0")
    app = workers_celery.create_celery(settings)
    assert app.conf.broker_url == "rediss://host:6380/0"
    assert app.conf.broker_use_ssl == {"ssl_cert_reqs": "required"}
    assert app.conf.task_default_queue == "usage"
    assert workers_celery.celery_app.conf.broker_url == workers_celery.settings.redis_url
    url = "redis+sentinel://:pw@a:1,b:2/tollgate/3"
    app = workers_celery.create_celery(replace(workers_celery.settings, redis_url=url))
    assert app.conf.broker_url == "sentinel://:pw@a:1/3;sentinel://:pw@b:2/3"
    options = app.conf.broker_transport_options
    assert (options["master_name"], options["global_keyprefix"]) == ("tollgate", "celery:")


def test_each_setting_is_one_that_celery_knows(workers_celery: ModuleType) -> None:
    known = {name for name, _ in flatten(NAMESPACES)} | {"deprecated_settings"}
    assert set(workers_celery.celery_app.conf.changes) - known == set()


def test_each_scheduled_task_exists_and_never_expires(workers_celery: ModuleType) -> None:
    app = workers_celery.celery_app
    app.loader.import_default_modules()
    assert {entry["task"] for entry in app.conf.beat_schedule.values()} == {
        name for name in app.tasks if not name.startswith("celery.")
    }
    # A worker whose clock is ahead of beat's would drop every one of them.
    options = [entry.get("options", {}) for entry in app.conf.beat_schedule.values()]
    assert not any("expires" in entry for entry in options)


def test_a_connection_that_is_lost_amid_tasks_can_be_closed(
    workers_celery: ModuleType, own_valkey: Valkey
) -> None:
    """An error here ends a worker, which then posts nothing until somebody starts it again."""
    app = workers_celery.create_celery(replace(workers_celery.settings, redis_url=own_valkey.url))
    taken = list[Any]()
    take = [lambda _, message: taken.append(message)]
    with app.connection_for_write() as connection:
        app.amqp.Producer(connection).publish({}, "usage", declare=[app.amqp.queues["usage"]])
    connection = app.connection_for_read()
    app.amqp.TaskConsumer(connection.default_channel, callbacks=take).consume()
    while not taken:
        connection.drain_events(timeout=10)
    app.amqp.TaskConsumer(connection.channel(), callbacks=take).consume()
    with pytest.raises(TimeoutError):
        connection.drain_events(timeout=0.1)
    own_valkey.kill()
    with suppress(*connection.connection_errors):  # as Celery does
        connection.collect()
    connection.close()


def test_tasks_do_not_pile_up_while_no_worker_runs(
    workers_celery: ModuleType, redis: "Redis"
) -> None:
    scheduler = workers_celery.BoundedScheduler(workers_celery.celery_app, lazy=True)
    scheduler.setup_schedule()
    entry = scheduler.schedule["post"]
    limit = workers_celery.WAITING_LIMIT
    sent = [scheduler.apply_async(entry) is not None for _ in range(limit + 3)]
    assert sent == [True] * limit + [False] * 3
    assert redis.llen("celery:usage") == limit
    redis.delete("celery:usage")
    assert scheduler.apply_async(entry) is not None
    scheduler.close()


def test_a_worker_without_redis_url_names_what_is_missing() -> None:
    command = [sys.executable, "-m", "celery", "-A", "workers.celery_app", "worker"]
    env = {name: value for name, value in os.environ.items() if name != "REDIS_URL"}
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert run.returncode != 0
    assert "REDIS_URL is not set" in run.stderr


@pytest.mark.parametrize("process", [["worker"], ["worker", "--beat"], ["beat"]])
def test_a_process_on_a_cluster_ends_with_the_reason(tmp_path: Path, process: list[str]) -> None:
    server = Valkey(tmp_path, more=as_cluster()).start()
    env = {**os.environ, "REDIS_URL": server.url}
    command = [sys.executable, "-m", "celery", "-A", "workers.celery_app", *process]
    try:
        run = subprocess.run(
            command, cwd=ROOT, env=env, capture_output=True, text=True, check=False
        )
    finally:
        server.kill()
    assert run.returncode == 1
    assert "REDIS_URL leads to a cluster" in run.stderr
