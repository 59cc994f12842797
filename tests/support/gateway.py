"""A Tollgate under test, and how a test talks to it."""

import dataclasses
import http.client
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
from redis import Redis
from sqlalchemy import Engine
from werkzeug.serving import make_server

from app.accounts.accounts import Accounts
from app.container import EXTENSION
from app.factory import create_app
from app.settings import Settings
from app.storage.redis.connection import connect
from app.storage.redis.keys import EVENTS, OPEN
from app.storage.sql.engine import create_engine
from app.usage.messages.event import UsageEvent
from tests.support.ports import free_port
from tests.support.processes import started
from tests.support.services.polling import wait_until
from tests.support.services.sqlite import new_ledger

ROOT = Path(__file__).parents[2]


@dataclasses.dataclass
class Gateway:
    """A running Tollgate: where it is, a key for it, and what it has recorded."""

    base_url: str
    redis: "Redis"
    engine: Engine
    api_key: str = ""
    key_id: str = ""

    @property
    def accounts(self) -> Accounts:
        """The accounts and keys of its ledger."""
        return Accounts(self.engine)

    def add_account(self, account_id: str, *scopes: str) -> str:
        """Create an account with a key and return the key."""
        self.accounts.create(account_id, account_id)
        _, secret = self.accounts.create_key([account_id], frozenset(scopes or ["completions"]))
        return secret

    def post(self, body: Any, **kwargs: Any) -> requests.Response:
        """Ask for a completion."""
        headers = {"x-api-key": self.api_key, **kwargs.pop("headers", {})}
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return requests.post(
            f"{self.base_url}/completions", data=raw, headers=headers, timeout=60, **kwargs
        )

    def chat(self, body: Mapping[str, Any], **kwargs: Any) -> requests.Response:
        """Ask for a chat completion."""
        headers = {"x-api-key": self.api_key, **kwargs.pop("headers", {})}
        return requests.post(
            f"{self.base_url}/chat/completions", json=body, headers=headers, timeout=60, **kwargs
        )

    def get(self, path: str, **kwargs: Any) -> requests.Response:
        """Get a path below /v5, with the key."""
        headers = {"x-api-key": self.api_key, **kwargs.pop("headers", {})}
        return requests.get(f"{self.base_url}{path}", headers=headers, timeout=60, **kwargs)

    def events(self, count: int = 1) -> list[UsageEvent]:
        """Wait until `count` events are on the stream and no request is open; return them all."""
        wait_until(lambda: self.redis.xlen(EVENTS) >= count and not self.redis.hlen(OPEN))
        entries: Any = self.redis.xrange(EVENTS)
        return [UsageEvent.decode(record[b"event"]) for _, record in entries]

    def event(self) -> UsageEvent:
        """Wait for the one event there is to be."""
        (event,) = self.events()
        return event


@contextmanager
def running(settings: Settings, account_id: str = "acme") -> Iterator[Gateway]:
    """Serve the app in threads of this process."""
    app = create_app(settings)
    server = make_server("127.0.0.1", 0, _closing(app), threaded=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
    try:
        with with_account(f"http://127.0.0.1:{server.port}/v5", settings, account_id) as gateway:
            yield gateway
    finally:
        server.shutdown()
        server.server_close()
        app.extensions[EXTENSION].close()


def _closing(app: Any) -> Any:
    """Close every body, as gunicorn does; this server forgets to when its caller resets.

    Left to itself it first reads what the caller may yet have sent, which fails then.
    """

    def body(answer: Any) -> Iterator[bytes]:
        try:
            yield from answer
        finally:
            answer.close()

    return lambda environ, start_response: body(app(environ, start_response))


@contextmanager
def with_account(base_url: str, settings: Settings, account_id: str = "acme") -> Iterator[Gateway]:
    """Return the gateway at `base_url` with an account and a key for it."""
    engine = create_engine(settings.database_url)
    with connect(settings.redis_url, 30.0) as redis:
        gateway = Gateway(base_url, redis, engine)
        gateway.accounts.create(account_id, "Acme")
        key, gateway.api_key = gateway.accounts.create_key([account_id], frozenset({"completions"}))
        gateway.key_id = key.key_id
        yield gateway
    engine.dispose()


@contextmanager
def gunicorn(
    env: Mapping[str, str], log: Path, application: str = "app.wsgi:app"
) -> Iterator[tuple[str, int]]:
    """Run the real web process; yield its base URL and its pid."""
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "-c", "config/gunicorn.conf.py", application]
    with log.open("wb") as output:
        options = {"env": {**os.environ, **env, "PORT": str(port)}, "stderr": subprocess.STDOUT}
        with started(command, cwd=ROOT, stdout=output, **options) as web:
            wait_until(lambda: _ready(port, web, log))
            yield f"http://127.0.0.1:{port}/v5", web.pid


def _ready(port: int, web: "subprocess.Popen[bytes]", log: Path) -> bool:
    if web.poll() is not None:
        raise AssertionError(f"gunicorn ended:\n{log.read_text()}")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def deployment(folder: Path, redis_url: str, vendor_url: str) -> Settings:
    """Return the settings of a Tollgate in a folder, whose vendors are all the one at a URL."""
    table = folder / "vendors.toml"
    table.write_text(vendor_table(vendor_url))
    return Settings(
        redis_url=redis_url,
        database_url=new_ledger(folder / "ledger.db"),
        vendors_file=table,
        spool_dir=folder / "spool",
        keep_alive_s=0.2,
        first_keep_alive_s=2.0,
        env={"SIM_API_KEY": "sk-simulated-secret"},
    )


def vendor_table(url: str) -> str:
    """Return an overlay of vendors that are all at `url`, each with a trait."""
    rows = {
        "sim": 'api_key_env = "SIM_API_KEY"\nretries = 0',
        "again": "retries = 2",
        "standby": 'fallbacks = ["keyless", "spare/other"]\nretries = 0',
        "spare": "retries = 0",
        "single": "list_prompts = false\nmax_n = 2\nretries = 0",
        "drain": 'on_disconnect = "read"\nretries = 0',
        "quick": "timeouts = {first_token_s = 1.0, idle_s = 0.6, total_s = 1.5}\nretries = 0",
        "picky": 'unsupported = ["best_of", "suffix", "logit_bias"]',
        "lax": 'unsupported = ["best_of", "suffix", "logit_bias"]\ndrop_unsupported = true',
        "tokens": "token_prompts = true",
        "keyless": 'api_key_env = "NO_SUCH_KEY"',
        "down": 'base_url = "http://127.0.0.1:1/v1"',
    }
    return "".join(
        f'[vendors.{name}]\ngateway = "openai"\n'
        + ("" if "base_url" in row else f'base_url = "{url}"\n')
        + f"{row}\n\n"
        for name, row in rows.items()
    )


def sse_events(response: requests.Response) -> list[tuple[str | None, Any]]:
    """Return a streamed answer's events: (name, JSON or text). Raises if it was cut."""
    events: list[tuple[str | None, Any]] = []
    for block in response.content.decode().split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        if not lines:
            continue
        fields = dict(line.split(": ", 1) for line in lines)
        text = fields["data"]
        events.append((fields.get("event"), text if text == "[DONE]" else json.loads(text)))
    return events


def text_of(events: list[tuple[str | None, Any]], index: int = 0) -> str:
    """Return the text of one choice of a streamed answer."""
    return "".join(
        choice["text"]
        for name, body in events
        if name is None
        for choice in body["choices"]
        if choice["index"] == index
    )
