"""Child processes: started with a log, watched, stopped, killed."""

import os
import sys
from pathlib import Path

import pytest

from app.devstack import children as children_module
from app.devstack.children import ChildFailed, Children
from tests.support.services.polling import has_exited, wait_until

DEADLINE_S = 120


def test_a_child_that_fails_shows_the_end_of_its_log(tmp_path: Path) -> None:
    with Children(tmp_path, {}) as children:
        script = "import sys; print('line'); sys.exit('no such thing')"
        children.start("broken", [sys.executable, "-c", script])
        with pytest.raises(ChildFailed, match=r"broken exited with code 1(?s:.)*no such thing"):
            children.wait_until(lambda: False, "broken", DEADLINE_S)


def test_a_child_that_is_not_ready_in_time_is_named(tmp_path: Path) -> None:
    with Children(tmp_path, {}) as children:
        children.start("slow", [sys.executable, "-c", "import signal; signal.pause()"])
        with pytest.raises(ChildFailed, match="slow is not ready after 0 s"):
            children.wait_until(lambda: False, "slow", 0.2)


def test_a_child_that_does_not_stop_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children_module, "STOP_S", 0.1)
    script = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
signal.pause()
"""
    with Children(tmp_path, {}) as children:
        children.start("deaf", [sys.executable, "-c", script])
        log = tmp_path / "deaf.log"
        children.wait_until(lambda: log.read_text() == "deaf\n", "deaf", DEADLINE_S)
        pid = children.pid("deaf")
    assert has_exited(pid)


def test_a_child_has_the_given_environment_and_a_new_log(tmp_path: Path) -> None:
    script = "import os; print(sorted(set(os.environ) & {'ONE', 'HOME'}))"
    log = tmp_path / "log" / "shell.log"
    for _ in range(2):
        with Children(log.parent, {"ONE": "1"}) as children:
            children.start("shell", [sys.executable, "-c", script])
            wait_until(lambda: log.read_text().endswith("\n"))
    assert log.read_text() == "['ONE']\n"


def test_what_a_child_leaves_behind_is_killed(tmp_path: Path) -> None:
    script = """
import subprocess, sys
left = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
print(left.pid, flush=True)
left.wait()
"""
    with Children(tmp_path, {}) as children:
        children.start("parent", [sys.executable, "-c", script])
        log = tmp_path / "parent.log"
        children.wait_until(lambda: log.read_text().endswith("\n"), "parent", DEADLINE_S)
        left = int(log.read_text())
    wait_until(lambda: has_exited(left))


def test_a_child_gets_the_listening_socket_that_it_is_passed(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with Children(tmp_path, {}) as children:
        script = f"import os; os.write({writer}, b'here')"
        children.start("writer", [sys.executable, "-c", script], pass_fds=[writer])
        os.close(writer)
        assert os.read(reader, 100) == b"here"
    os.close(reader)
