"""Usage that is not in the ledger yet, as far as Redis says."""

import time
from dataclasses import replace

from app.dashboard.pipeline import read_pipeline
from app.settings import Settings
from app.storage.redis.connection import connect
from app.usage.redis.stream import EventStream
from tests.dashboard.site import DashboardSite, make_site
from tests.support.events import usage_event


def test_the_backlog_is_counted(site: DashboardSite, settings: Settings) -> None:
    EventStream(connect(settings.redis_url, 5.0)).publish(usage_event())
    with site.client.application.app_context():
        found = read_pipeline(time.time() + 5)
    assert found is not None
    assert (found.events, found.open_requests, found.dead_events) == (1, 0, 0)
    assert found.missing_requests == 0
    assert found.oldest_ms is not None
    assert found.oldest_ms >= 4000


def test_without_redis_nothing_is_known(settings: Settings) -> None:
    site = make_site(replace(settings, redis_url="redis://127.0.0.1:1/0", redis_timeout_s=0.1))
    try:
        with site.client.application.app_context():
            assert read_pipeline(time.time()) is None
    finally:
        site.close()
