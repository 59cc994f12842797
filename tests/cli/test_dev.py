"""`tollgate dev` as a person runs it: a process in a terminal, and Ctrl-C."""

import os
import re
import shlex
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import coverage
import pytest

from app.devstack.demo import DemoClient, DemoFailed
from app.settings import ROOT
from tests.support.ports import free_port
from tests.support.processes import ended, started
from tests.support.services.polling import has_exited, wait_until

DEADLINE_S = 120
MODEL = "sandbox/echo"


def command(var: Path, port: int) -> list[str]:
    measured = ["-m", "coverage", "run"] if coverage.Coverage.current() else []
    arguments = ["-m", "app.cli", "dev", f"--var={var}", f"--port={port}"]
    return [sys.executable, *measured, *arguments]


@contextmanager
def running(var: Path, port: int, **more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A `tollgate dev` that is up, and what it has said until then."""
    with started(
        command(var, port),
        cwd=ROOT,
        env={**os.environ, "HOME": "", **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        said = ""
        while "Running until Ctrl-C" not in said:
            line = process.stdout.readline()
            assert line, f"it ended: {said}"
            said += line
        yield process, said


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Return the exit code and what it has said; little enough for a pipe to hold."""
    assert process.stdout is not None
    code = ended(process, DEADLINE_S)
    return code, process.stdout.read()


def run(words: list[str]) -> "subprocess.CompletedProcess[str]":
    """Run one that is to end by itself."""
    return subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=DEADLINE_S
    )


def shell(commands: str, folder: Path) -> str:
    """Run commands as pasted into another terminal; return what they print."""
    ran = subprocess.run(
        ["bash", "-c", commands],
        cwd=folder,
        env={**os.environ, "OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def key_in(said: str) -> str:
    match = re.search(r"^export OPENAI_API_KEY=(\S+)$", said, re.MULTILINE)
    assert match
    return match[1]


def children_of(process: subprocess.Popen[str]) -> dict[str, int]:
    """The pids of the children by the log that each writes."""
    found = {}
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    for pid in map(int, children.split()):
        log = Path(f"/proc/{pid}/fd/1").readlink()
        found[log.stem] = pid
    return found


def pasted(said: str) -> str:
    """The lines that a person would paste into another terminal, all at once."""
    start, end = said.index("export OPENAI_BASE_URL"), said.index("  API reference")
    text = said[start:end].replace("\nThe same without Python, as server-sent events:\n", "")
    return text.replace("-m pip install --quiet openai", "-c ''")  # the tests have it


def readme(start: str, end: str, url: str) -> list[str]:
    """The blocks of a part of the README that are to be pasted, with another address."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    part = text[text.index(start) : text.index(end)]
    blocks = re.findall(r"^```(?:sh|python)\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)
    return [block.replace("http://127.0.0.1:8000", url) for block in blocks]


def in_python(code: str) -> str:
    """A shell command that runs Python code."""
    return f"{shlex.quote(sys.executable)} - <<'END'\n{code}END\n"


def other_command(said: str) -> str:
    found = re.search(r"Other commands +(.*)", said)
    assert found
    return found[1]


def test_it_shows_a_completion_and_this_runs_usage_and_keeps_the_rest(tmp_path: Path) -> None:
    var, port = tmp_path / "var", free_port()
    with running(var, port) as (process, said):
        assert "Every word of this answer is a token" in said
        assert "The words of a chat are counted in the same way" in said
        assert re.search(rf"{re.escape(MODEL)} +2 +26 +26\n", said)
        key = key_in(said)
        assert stat.S_IMODE((var / "dev-key").stat().st_mode) == 0o600
        assert set(children_of(process)) == {"valkey", "sandbox", "worker", "beat", "web"}

        url = f"http://127.0.0.1:{port}"
        curl, _, with_clients, _, by_http = readme("## Call the API", "### Limits", url)
        assert '"text":" there"' in shell(curl, tmp_path)
        printed = shell(in_python(with_clients), tmp_path)
        assert printed == "Hello there\n" * 4
        assert "OrganizationUsageCompletions" in shell(in_python(with_clients + by_http), tmp_path)

        caller = DemoClient(f"{url}/v5", key)
        with pytest.raises(DemoFailed, match="The stream failed"):
            list(caller.stream("sandbox/echo?cut_after=1", "a b"))
        with pytest.raises(DemoFailed, match="The completion failed"):
            list(caller.stream("sandbox/echo?status=400", "a b"))
        with pytest.raises(DemoFailed, match="The usage query failed"):
            DemoClient(f"{url}/v5", "wrong").usage()

        shown = shell(pasted(said), tmp_path)
        assert shown.startswith("Each word of this answer is a token.\n")
        assert "event: done" in shown
        listed = shell(f". {var / 'dev-env'} && {sys.executable} -m app.cli vendors", ROOT)
        assert re.search(r"^sandbox +openai +http://127\S+ +yes", listed, re.MULTILINE)

        pids = children_of(process).values()
        process.send_signal(signal.SIGINT)
        code, rest = finish(process)
        assert not (var / "dev-env").exists()
        assert (code, rest) == (0, "Stopped. The recorded usage is kept.\n")
        assert all(map(has_exited, pids))

    # In a terminal with the pasted lines, the key is not taken for OpenAI's.
    with running(var, port, OPENAI_API_KEY=key) as (process, said):
        assert "OPENAI_API_KEY is a key of Tollgate" in said
        assert DemoClient(f"{url}/v5", key).vendors() >= {"sandbox"}
        assert "openai" not in DemoClient(f"{url}/v5", key).vendors()
        assert key_in(said) == key
        assert re.search(rf"{re.escape(MODEL)} +2 +26 +26\n", said)
        used = shell(f"{other_command(said)} --by model", tmp_path)
        assert re.search(r"^sandbox/echo +\d\d +\d ", used, re.MULTILINE)  # of both runs
        process.send_signal(signal.SIGTERM)
        assert finish(process)[0] == 0


def test_a_second_one_is_refused_and_the_first_stops_when_a_child_dies_and_says_which(
    tmp_path: Path,
) -> None:
    with running(tmp_path, free_port()) as (process, _):
        second = run(command(tmp_path, free_port()))
        assert second.returncode == 1
        assert "Another `tollgate dev` uses" in second.stderr
        assert process.poll() is None
        os.kill(children_of(process)["beat"], signal.SIGKILL)
        code, said = finish(process)
    assert code == 1
    assert "beat exited with code -9" in said
    assert "`tollgate dev` again" in said


def test_its_children_do_not_outlive_it(tmp_path: Path) -> None:
    with running(tmp_path, free_port()) as (process, _):
        pids = children_of(process).values()
        process.kill()
        wait_until(lambda: all(map(has_exited, pids)))


def test_a_port_in_use_is_said_at_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = run(command(tmp_path, port))
    assert process.returncode == 1
    assert f"Cannot listen on port {port}: Address already in use" in process.stderr
