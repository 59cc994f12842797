"""Every program of docs/clients.md runs as it stands, and prints what the page says."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.settings import ROOT
from app.usage.messages.event import UsageEvent
from tests.support.gateway import Gateway
from tests.support.processes import ended, started
from tests.support.services.node_packages import installed
from tests.support.vendor import SimulatedVendor

PAGE = ROOT / "docs" / "clients.md"
#: The newest that Debian's Node runs.
NODE_CLIENT = "openai@6"
DEADLINE_S = 120.0

DOORS = ["chat.completions", "completions"]

_PARTS = re.compile(
    r"^## (?P<title>[^\n]+)$|^```(?P<language>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass
class Program:
    """A program of the page, and what it prints; None if the page does not say."""

    title: str
    language: str
    code: str
    printed: str | None = None


def programs() -> Iterator[Program]:
    """Yield the programs; a block of text belongs to those since the one before."""
    title, waiting = "", list[Program]()
    for part in _PARTS.finditer(PAGE.read_text(encoding="utf-8")):
        if part["title"]:
            yield from waiting
            title, waiting = part["title"], []
        elif part["language"] in ("python", "js"):
            waiting.append(Program(title, part["language"], part["code"]))
        elif part["language"] == "text":
            for program in waiting:
                program.printed = part["code"]
            yield from waiting
            waiting = []
    yield from waiting


PROGRAMS = list(programs())

#: Section -> the statuses of each door's requests, from the first program on.
STATUSES: Mapping[str, list[list[str]]] = {
    "Streams": [["completed"]],
    "Cancel": [["disconnected"]],
    "Ctrl-C": [["disconnected"]],
    "Time-outs": [["disconnected"]],
    "Retries": [["failed", "completed"], ["truncated"]],
    "Idempotency": [["completed"]],
}


def statuses(program: Program) -> list[str]:
    """What becomes of a program's requests at each door."""
    alike = [it for it in PROGRAMS if (it.title, it.language) == (program.title, program.language)]
    return STATUSES[program.title][alike.index(program)]


@dataclass
class Runner:
    """A Tollgate without usage, and a folder for programs."""

    gateway: Gateway
    folder: Path

    def command(self, program: Program) -> list[str]:
        """Write a program to a file; return the command that runs it."""
        if program.language == "python":
            path = self.folder / "program.py"
            path.write_text(program.code, encoding="utf-8")
            return [sys.executable, str(path)]
        (self.folder / "node_modules").symlink_to(installed(NODE_CLIENT) / "node_modules")
        path = self.folder / "program.mjs"
        path.write_text(program.code, encoding="utf-8")
        return ["node", str(path)]

    @property
    def env(self) -> dict[str, str]:
        """The environment of a program."""
        return {
            **os.environ,
            "OPENAI_BASE_URL": self.gateway.base_url,
            "OPENAI_API_KEY": self.gateway.api_key,
        }

    def events(self, program: Program) -> list[UsageEvent]:
        """Return the events of a program's requests, once all are recorded; check the statuses."""
        expected = statuses(program)
        events = self.gateway.events(len(expected) * len(DOORS))
        for door in DOORS:
            assert [it.status for it in events if it.endpoint == door] == expected
        return events


@pytest.fixture
def runner(served: tuple[Gateway, SimulatedVendor], tmp_path: Path) -> Runner:
    """A runner of programs."""
    gateway, _ = served
    gateway.redis.flushall()
    return Runner(gateway, tmp_path)


def named(program: Program) -> str:
    """Return the name of a test."""
    return f"{program.title}-{program.language}"


def test_each_section_has_programs_in_both_languages() -> None:
    assert {(it.title, it.language) for it in PROGRAMS} == {
        (title, language) for title in STATUSES for language in ("python", "js")
    }
    assert {it.title for it in PROGRAMS if it.printed is None} == {"Ctrl-C"}


@pytest.mark.parametrize("program", [it for it in PROGRAMS if it.printed], ids=named)
def test_a_program_prints_what_the_page_says(runner: Runner, program: Program) -> None:
    ran = subprocess.run(
        runner.command(program),
        env=runner.env,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert (ran.stderr, ran.returncode) == ("", 0)
    assert ran.stdout == program.printed
    for event in runner.events(program):
        if program.title == "Cancel":
            assert 3 <= event.completion_tokens < 1000


@pytest.mark.parametrize("program", [it for it in PROGRAMS if not it.printed], ids=named)
def test_ctrl_c_stops_each_stream_and_the_program_goes_on(runner: Runner, program: Program) -> None:
    with started(
        runner.command(program), env=runner.env, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for _ in DOORS:
            seen = ""
            while "Press" not in seen:
                seen += process.stdout.read(1)
            process.send_signal(signal.SIGINT)
            while not seen.endswith("\nStopped.\n"):
                text = process.stdout.read(1)
                assert text, f"it ended: {seen}"
                seen += text
        assert ended(process, DEADLINE_S) == 0
    assert all(event.completion_tokens < 1000 for event in runner.events(program))
