"""Running a Procfile: what is started in which order, and what a signal does to it."""

import os
import signal
import threading
from pathlib import Path

import pytest

from app.devstack.procfile import ProcfileRun, read_procfile
from tests.support.services.polling import wait_until

#: Long enough that reaching it fails a test.
LONG_S = 3600.0

LASTS = "sleep 3600"


def run(commands: dict[str, str], stop_s: float = LONG_S, abort_s: float = LONG_S) -> int:
    """Run commands with this process's environment."""
    return ProcfileRun(commands, os.environ, stop_s, abort_s).run()


def signals(*steps: tuple[signal.Signals, Path]) -> None:
    """Send this process signals, each once its file exists."""

    def send() -> None:
        for number, file in steps:
            wait_until(file.exists)
            os.kill(os.getpid(), number)

    threading.Thread(target=send, daemon=True).start()


def test_a_procfile_has_a_command_a_line() -> None:
    text = "web: one --two\n# a comment: none\n\nworker-2:three & four\n"
    assert read_procfile(text) == {"web": "one --two", "worker-2": "three & four"}


def test_the_release_comes_first_and_alone(tmp_path: Path) -> None:
    order = tmp_path / "order"
    commands = {"web": f"sh -c 'echo web >> {order}; exit 7'"}
    commands["release"] = f"sh -c 'echo release >> {order}'"
    assert run(commands) == 7
    assert order.read_text() == "release\nweb\n"


def test_a_release_that_fails_starts_nothing_else(tmp_path: Path) -> None:
    assert run({"web": f"touch {tmp_path}/web", "release": "false"}) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("command", "code"), [("true", 1), ("sh -c 'exit 3'", 3)])
def test_a_process_that_ends_stops_the_others(command: str, code: int) -> None:
    assert run({"web": command, "worker": LASTS}) == code


def test_a_process_that_is_killed_is_an_error() -> None:
    assert run({"web": "sh -c 'kill -9 $$'", "worker": LASTS}) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_stops_all_in_order(tmp_path: Path, number: signal.Signals) -> None:
    waits = f"""sh -c 'trap "echo stopped > {tmp_path}/web; exit 0" TERM; touch {tmp_path}/ready;
    while :; do sleep 0.05; done'""".replace("\n", " ")
    signals((number, tmp_path / "ready"))
    before = signal.getsignal(number)
    assert run({"web": waits, "worker": LASTS}) == 0
    assert (tmp_path / "web").read_text() == "stopped\n"
    assert signal.getsignal(number) == before


def test_a_second_signal_aborts(tmp_path: Path) -> None:
    waits = f"""sh -c 'trap "touch {tmp_path}/told" TERM; trap "exit 0" QUIT;
    touch {tmp_path}/ready; while :; do sleep 0.05; done'""".replace("\n", " ")
    signals((signal.SIGINT, tmp_path / "ready"), (signal.SIGTERM, tmp_path / "told"))
    assert run({"web": waits}) == 0


def test_what_does_not_stop_is_killed(tmp_path: Path) -> None:
    deaf = f"sh -c 'trap \"\" TERM QUIT; touch {tmp_path}/ready; while :; do sleep 0.05; done'"
    signals((signal.SIGTERM, tmp_path / "ready"))
    assert run({"web": deaf}, stop_s=0.3) == 1


def test_a_signal_during_the_release_starts_nothing_else(tmp_path: Path) -> None:
    waits = f"sh -c 'touch {tmp_path}/ready; exec sleep 3600'"
    signals((signal.SIGTERM, tmp_path / "ready"))
    assert run({"release": waits, "web": f"touch {tmp_path}/web"}) == 0
    assert not (tmp_path / "web").exists()


def test_odd_lines_of_a_procfile_are_neither_joined_nor_kept_with_their_line_ends() -> None:
    text = "web: a\r\n# no: comment\n\nempty:\nworker:\tb  \nnot a line\nempty2: \n"
    assert read_procfile(text) == {"web": "a", "worker": "b"}


@pytest.mark.parametrize("commands", [{}, {"release": "true"}])
def test_a_procfile_without_a_process_ends_with_a_line(
    caplog: pytest.LogCaptureFixture, commands: dict[str, str]
) -> None:
    assert ProcfileRun(commands, {}, 1.0, 1.0).run() == 1
    assert "names no process" in caplog.text
