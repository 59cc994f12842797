"""Heartbeats during long work."""

import pytest
from redis import Redis

from app.storage.redis.keys import OWNER
from app.usage.recording import pulse
from app.usage.recording.pulse import Pulse
from app.usage.redis.processes import OWNER_TTL_S, Processes


def test_heartbeats_are_sent_when_they_are_due(
    redis: "Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    spooling = Pulse(Processes(redis), "web-1", spools=True)
    spooling.beat()
    assert redis.get(f"{OWNER}web-1") == b"spools"
    assert 0 < redis.ttl(f"{OWNER}web-1") <= OWNER_TTL_S
    redis.delete(f"{OWNER}web-1")
    spooling.beat()
    assert redis.get(f"{OWNER}web-1") is None
    monkeypatch.setattr(pulse, "OWNER_RENEWAL_S", 0.0)
    other = Pulse(Processes(redis), "web-2", spools=False)
    for _ in range(2):
        other.beat()
        assert redis.getdel(f"{OWNER}web-2") == b"1"
