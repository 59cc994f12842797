"""The same loops, and streams that break, over a real web process under gunicorn."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest
from redis import Redis

from tests.contract.chat.loops import LOOPS, run
from tests.contract.chat.scenarios import COUNTS, USER
from tests.contract.chat.site import Site
from tests.contract.table import PATIENT, overlay_of, settings_of, variables
from tests.support.gateway import gunicorn, with_account
from tests.support.services.valkey import Valkey
from tests.support.vendor import SimulatedVendor
from tests.support.vendors.chat.rows import OVERLAYS
from tests.support.vendors.chat.script import Answer


@pytest.fixture(scope="module")
def module_site(tmp_path_factory: pytest.TempPathFactory, valkey: Valkey) -> Iterator[Site]:
    """A web process for all tests of this module."""
    root = tmp_path_factory.mktemp("chat")
    vendor = SimulatedVendor()
    settings = settings_of(root, valkey.url, overlay_of(vendor, PATIENT, OVERLAYS))
    env = {
        **variables(),
        "CONTRACT_KEY": settings.env["CONTRACT_KEY"],
        "REDIS_URL": valkey.url,
        "DATABASE_URL": settings.database_url,
        "TOLLGATE_VENDORS": str(settings.vendors_file),
        "TOLLGATE_SPOOL_DIR": str(settings.spool_dir),
    }
    with Redis.from_url(valkey.url) as redis:
        redis.flushall()
    with gunicorn(env, root / "web.log") as (url, _), with_account(url, settings) as gateway:
        site = Site(gateway, vendor)
        yield site
        site.client.close()
    vendor.stop()


@pytest.mark.parametrize("row", ["anthropic", "bedrock", "gemini", "mistral", "openrouter"])
def test_a_loop(site: Site, row: str) -> None:
    assert row in LOOPS
    run(site, row, stream=True)


@pytest.mark.parametrize("row", ["anthropic", "bedrock", "cohere", "gemini", "openai"])
@pytest.mark.parametrize("breaks", ["error", "hang_up"])
def test_a_stream_that_breaks(site: Site, row: str, breaks: Any) -> None:
    site.says(row, Answer(counts=COUNTS, breaks=breaks))
    with pytest.raises(openai.APIError):
        site.ask(row, [USER], stream=True)
    assert site.gateway.event().status == "truncated"
