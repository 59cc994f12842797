"""Celery's broker: where it is, and the options with which Celery's transport connects to it.

They are those that `app.storage.redis.connection.connect` uses. Knows no task.
"""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from kombu.transport import virtual
from redis.connection import parse_url

from app.storage.redis.sentinels import sentinel_options
from app.storage.redis.url import RedisURL, parse_redis_url

#: A closed channel does not return its tasks to the queue, as beat sends them again. Over a
#: connection that was lost, returning them can fail with an error that ends the worker.
virtual.Channel.do_restore = False


@dataclass(frozen=True, slots=True)
class Broker:
    """`tls` are Celery's `broker_use_ssl`, None without TLS.

    `transport_options` are to be added to those of Celery's configuration.
    """

    url: str = field(repr=False)
    tls: dict[str, Any] | None
    transport_options: dict[str, Any] = field(repr=False)


def broker_of(redis_url: str, timeout_s: float) -> Broker:
    """Return the broker in the Redis that REDIS_URL names.

    A sentinel is asked for `timeout_s` at most.
    Raises: ConfigError if the URL is invalid.
    """
    url = parse_redis_url(redis_url)
    if not url.sentinels:
        return Broker(redis_url, broker_tls(redis_url), {})
    options = {
        "master_name": url.master_name,
        "sentinel_kwargs": sentinel_options(url, timeout_s),
    }
    return Broker(_sentinels(url), broker_tls(url.server_url), options)


def broker_tls(server_url: str) -> dict[str, Any] | None:
    """Return Celery's TLS options for a server's URL; None without TLS.

    Without them, Celery connects to `rediss://` without TLS.
    """
    if not server_url.startswith("rediss://"):
        return None
    options = parse_url(server_url).items()  # type: ignore[no-untyped-call]
    return {
        "ssl_cert_reqs": "required",
        **{name: value for name, value in options if name.startswith("ssl_")},
    }


def _sentinels(url: RedisURL) -> str:
    """Return Celery's form: a URL for each sentinel, each with the login for the servers."""
    server = urlsplit(url.server_url)
    login, _, _ = server.netloc.rpartition("@")
    at = f"{login}@" if login else ""
    hosts = [(f"[{host}]" if ":" in host else host, port) for host, port in url.sentinels]
    return ";".join(f"sentinel://{at}{host}:{port}{server.path}" for host, port in hosts)
