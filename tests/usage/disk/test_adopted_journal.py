"""Journals of processes that have ended: who takes them over, and what is in them."""

import errno
import os
from pathlib import Path

import pytest

from app.usage.disk.adopted_journal import adopt
from app.usage.disk.journal import Journal
from tests.usage.disk.kept import event, ids, opened, posted

NOBODY = "another"


def test_a_process_that_ended_leaves_its_journal_to_one_other(
    tmp_path: Path,
) -> None:
    journal = Journal(tmp_path, "me", {"e2"}.__contains__)
    journal.write([opened(1), event(1), opened(2), opened(3), event(3)])
    assert list(adopt(tmp_path, NOBODY)) == []
    journal.forget(posted(1))
    journal.close()
    (heir,) = adopt(tmp_path, NOBODY)
    assert list(adopt(tmp_path, "third")) == []
    assert ids(heir) == ["event e1", "open e2", "event e3"]
    heir.forget(posted(1, 2))
    assert ids(heir) == ["event e3"]
    heir.forget(posted(3))
    assert not heir.unposted
    heir.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_journal_that_could_not_be_read_is_taken_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path, "me", {"e1"}.__contains__)
    journal.write([event(1)])
    journal.close()

    def failing(*_: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", failing)
        with pytest.raises(OSError, match="Input/output"):
            list(adopt(tmp_path, NOBODY))
    (heir,) = adopt(tmp_path, NOBODY)
    assert ids(heir) == ["event e1"]


def test_a_torn_line_is_left_out(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "me", {"e2"}.__contains__)
    journal.write([event(1), opened(2)])
    journal.close()
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-9])
    (heir,) = adopt(tmp_path, NOBODY)
    assert ids(heir) == ["event e1"]
