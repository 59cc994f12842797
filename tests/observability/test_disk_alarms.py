"""Alarms about a host's disk, which `test_alarms` also sees through `Alarms`."""

from pathlib import Path

import pytest

from app.observability import disk_alarms
from app.observability.disk_alarms import DiskAlarms
from app.usage.disk.spool import Spool


def test_a_journal_that_is_off_or_faulty_is_an_alarm(tmp_path: Path) -> None:
    _, alarms = DiskAlarms(tmp_path, copies=False).check()
    assert alarms["journal_off"].startswith("TOLLGATE_JOURNAL is off: what Redis loses")
    _, alarms = DiskAlarms(tmp_path, journal_fault=lambda: "it is full").check()
    assert alarms["journal"].startswith(f"The journal in {tmp_path} is incomplete: it is full.")


def test_a_disk_with_little_room_is_an_alarm_of_those_that_write_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_alarms, "ENOUGH_BYTES", 1 << 60)
    assert list(DiskAlarms(tmp_path, writes=True).check()[1]) == ["spool_disk"]
    assert DiskAlarms(tmp_path).check() == (0, {})


def test_usage_that_waits_in_the_spool_is_an_alarm_with_its_size(tmp_path: Path) -> None:
    Spool(tmp_path, "other").append("event", b"{}")
    size, alarms = DiskAlarms(tmp_path).check()
    assert size == len(b'{"event":{}}\n')
    assert alarms == {
        "spool": f"{size} bytes of usage are in this host's spool, waiting for Redis."
    }
