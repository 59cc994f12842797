"""Celery's broker, as REDIS_URL names it."""

import os
import subprocess
import sys
from typing import Any

import pytest
from celery import Celery

from app.settings import ROOT, ConfigError
from workers.broker import Broker, broker_of

SECRETS = "redis+sentinel://me:p%2Fw-hunter2@a:1,[::1],c:3/my%20own/7?sentinel_password=hunter2"


@pytest.mark.parametrize(
    ("url", "tls"),
    [
        ("redis://host:6379/0", None),
        ("redis://host:6379/0?ssl_cert_reqs=none", None),
        ("rediss://:secret@host:6380/0", {"ssl_cert_reqs": "required"}),
        ("rediss://host:6380/0?ssl_cert_reqs=required", {"ssl_cert_reqs": "required"}),
        ("rediss://host:6380/0?ssl_cert_reqs=none", {"ssl_cert_reqs": "none"}),
        (
            "rediss://host:6380/0?ssl_ca_certs=/ca.pem&ssl_check_hostname=false",
            {
                "ssl_cert_reqs": "required",
                "ssl_ca_certs": "/ca.pem",
                "ssl_check_hostname": False,
            },
        ),
    ],
)
def test_the_broker_is_reached_with_tls_as_its_url_says(
    url: str, tls: dict[str, Any] | None
) -> None:
    assert broker_of(url, 2.0) == Broker(url, tls, {})


def test_each_sentinel_is_named_with_the_login_for_the_servers() -> None:
    broker = broker_of(SECRETS, 3.0)
    assert broker.url.split(";") == [
        "sentinel://me:p%2Fw-hunter2@a:1/7",
        "sentinel://me:p%2Fw-hunter2@[::1]:26379/7",
        "sentinel://me:p%2Fw-hunter2@c:3/7",
    ]
    assert broker.tls is None
    assert broker.transport_options["master_name"] == "my own"
    options = broker.transport_options["sentinel_kwargs"]
    assert (options["password"], options["socket_timeout"]) == ("hunter2", 1.0)
    assert "hunter2" not in repr(broker)
    with Celery(broker=broker.url).connection_for_write() as connection:
        assert connection.password == "p/w-hunter2"
        assert "hunter2" not in connection.as_uri()


def test_sentinels_behind_tls_are_trusted_as_the_servers_are() -> None:
    broker = broker_of("rediss+sentinel://a/m?ssl_ca_certs=/ca.pem", 2.0)
    assert broker.url == "sentinel://a:26379/0"
    assert broker.tls == {"ssl_cert_reqs": "required", "ssl_ca_certs": "/ca.pem"}
    options = broker.transport_options["sentinel_kwargs"]
    assert (options["ssl"], options["ssl_ca_certs"]) == (True, "/ca.pem")
    with pytest.raises(ConfigError, match="name by which"):
        broker_of("redis+sentinel://a,b", 2.0)


def test_celery_does_not_report_the_passwords() -> None:
    command = [sys.executable, "-m", "celery", "-A", "workers.celery_app", "report"]
    env = {**os.environ, "REDIS_URL": SECRETS}
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert "my own" in run.stdout
    assert "hunter2" not in run.stdout + run.stderr
