"""A Tollgate with the sandbox, for all of these tests."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis
from werkzeug.serving import make_server

from app.sandbox.wsgi import app as sandbox
from app.settings import Settings
from tests.support.gateway import Gateway, running, vendor_table
from tests.support.services.sqlite import new_ledger
from tests.support.services.valkey import Valkey
from tests.support.vendor import SimulatedVendor

_FOREIGN = """
[vendors.foreign]
gateway = "anthropic"
base_url = "{url}"
quirks = {{version = "x", default_max_tokens = 9}}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, valkey: Valkey) -> Iterator[Gateway]:
    """A Tollgate with the sandbox, a vendor with OpenAI's wire, and `foreign` with another."""
    folder: Path = tmp_path_factory.mktemp("mistakes")
    with Redis.from_url(valkey.url) as redis:
        redis.flushall()
    vendor = SimulatedVendor()
    server = make_server("127.0.0.1", 0, sandbox, threaded=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
    table = folder / "vendors.toml"
    table.write_text(vendor_table(vendor.url) + _FOREIGN.format(url=vendor.url))
    url = f"http://127.0.0.1:{server.port}/v1"
    settings = Settings(
        redis_url=valkey.url,
        database_url=new_ledger(folder / "ledger.db"),
        vendors_file=table,
        spool_dir=folder / "spool",
        env={"SIM_API_KEY": "sk-simulated", "TOLLGATE_SANDBOX_URL": url},
    )
    with running(settings) as gateway:
        yield gateway
    server.shutdown()
    server.server_close()
    vendor.stop()
