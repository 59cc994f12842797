"""Commands whose output cannot be written."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.accounts.accounts import Accounts
from app.accounts.apikey import new_secret
from app.cli.output import readable, write_whole
from app.ledger.posting import Ledger
from app.settings import ROOT
from app.storage.sql.engine import create_engine
from tests.support.events import usage_event
from tests.support.processes import ended, started
from tests.support.services.polling import wait_until
from tests.support.services.sqlite import new_ledger

Run = subprocess.CompletedProcess[str]


@contextmanager
def full() -> Iterator[int]:
    """A disk without room."""
    file = os.open("/dev/full", os.O_WRONLY)
    yield file
    os.close(file)


@contextmanager
def left() -> Iterator[int]:
    """A pipe whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@contextmanager
def closed() -> Iterator[None]:
    """None at all, as a shell's `>&-` has it."""
    yield None


OUTPUTS = [full, left, closed]


class Shell:
    """A ledger with an account and a key, and a way to run commands on it."""

    def __init__(self, folder: Path, redis_url: str) -> None:
        self.url = new_ledger(folder / "ledger.db")
        self.engine = create_engine(self.url)
        self.accounts = Accounts(self.engine)
        self.accounts.create("acme", "Acme")
        self.key, _ = self.accounts.create_key(["acme"], ["completions"])
        now_ms = int(time.time() * 1000)
        Ledger(self.engine).post([usage_event(account_id="acme", started_at_ms=now_ms)])
        self.env = {"DATABASE_URL": self.url, "REDIS_URL": redis_url}
        self.env["TOLLGATE_SPOOL_DIR"] = str(folder / "spool")

    def run(self, output: Callable[[], object], *words: str, descriptor: int = 1) -> Run:
        """Run a command with stdout or stderr as `output` has it."""
        with output() as file:  # type: ignore[attr-defined]
            to = {1: subprocess.DEVNULL, 2: subprocess.PIPE, descriptor: file}
            shell = f'exec "$@" {descriptor}>&-' if file is None else 'exec "$@"'
            return subprocess.run(
                ["sh", "-c", shell, "sh", sys.executable, "-m", "app.cli", *words],
                cwd=ROOT,
                env={**os.environ, **self.env},
                stdout=to[1],
                stderr=to[2],
                stdin=subprocess.DEVNULL,
                text=True,
                check=False,
                timeout=120,
            )


@pytest.fixture
def shell(tmp_path: Path, redis_url: str) -> Iterator[Shell]:
    shell = Shell(tmp_path, redis_url)
    yield shell
    shell.engine.dispose()


def assert_failed(ran: Run) -> str:
    """The command says in one line that it could not say anything; return the line."""
    assert ran.returncode == 1, ran.stderr
    lines = ran.stderr.splitlines()
    told = [line for line in lines if line.startswith("Error: Cannot write to stdout: ")]
    assert len(told) == 1, ran.stderr
    assert lines[-1] == told[0]
    assert "Traceback" not in ran.stderr
    return told[0]


@pytest.mark.parametrize("output", OUTPUTS)
def test_no_key_is_left_that_nobody_has(shell: Shell, output: Callable[[], object]) -> None:
    shell.accounts.set_limits("key", shell.key.key_id, requests_per_minute=5)
    for words in (
        ("create", "acme"),
        ("rotate", shell.key.key_id),
        ("rotate", shell.key.key_id, "--operation-id", "november"),
    ):
        line = assert_failed(shell.run(output, "keys", *words))
        assert line.endswith("No key was created.")
    assert [key.key_id for key in shell.accounts.list_keys()] == [shell.key.key_id]
    assert [limits.subject_id for limits in shell.accounts.list_limits()] == [shell.key.key_id]
    # The operation has made no key: repeated, it makes one.
    _, secret = shell.accounts.rotate(shell.key.key_id, "november")
    assert shell.accounts.find_key(secret)


def test_a_key_works_from_the_moment_that_it_is_printed(shell: Shell) -> None:
    command = [sys.executable, "-m", "app.cli", "keys", "create", "acme"]
    env = {**os.environ, **shell.env}
    ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    key = shell.accounts.find_key(ran.stdout.strip())
    assert key is not None
    assert key.revoked_at_ms is None


@contextmanager
def printing(shell: Shell) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """A command that has made a key and waits to print it; yield it and its output's reader."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    while True:  # a full pipe
        try:
            os.write(writer, b"x" * 4096)
        except BlockingIOError:
            break
    os.set_blocking(writer, True)
    command = [sys.executable, "-m", "app.cli", "keys", "create", "acme"]
    env = {**os.environ, **shell.env}
    with started(
        command, cwd=ROOT, env=env, stdout=writer, stderr=subprocess.PIPE, text=True
    ) as process:
        os.close(writer)
        wait_until(lambda: len(shell.accounts.list_keys()) == 2)
        yield process, reader
    os.close(reader)


def test_a_command_that_is_killed_before_it_has_printed_leaves_no_key_that_works(
    shell: Shell,
) -> None:
    with printing(shell) as (process, _):
        process.send_signal(signal.SIGKILL)
    _, new = shell.accounts.list_keys()
    assert new.revoked_at_ms is not None


def test_a_key_that_was_printed_and_could_not_be_made_to_work_is_told(shell: Shell) -> None:
    with printing(shell) as (process, reader):
        with shell.engine.begin() as connection:
            connection.exec_driver_sql("ALTER TABLE api_keys RENAME TO hidden")
            connection.commit()
        printed = b""
        while piece := os.read(reader, 65536):
            printed += piece
        assert process.stderr is not None
        told = process.stderr.read().splitlines()
    assert process.returncode == 1
    assert printed.strip(b"x\n").startswith(b"tg_")
    assert "The printed key does not work" in told[-1]


@pytest.mark.parametrize("output", [left, closed])
@pytest.mark.parametrize("words", [["--help"], ["keys", "list"], ["usage", "--format", "csv"]])
def test_a_command_whose_output_is_gone_fails_in_one_line(
    shell: Shell, words: list[str], output: Callable[[], object]
) -> None:
    assert_failed(shell.run(output, *words))


@pytest.mark.parametrize(
    "words",
    [
        ["--version"],
        ["keys", "list", "--json"],
        ["keys", "limit", "KEY"],
        ["accounts", "create", "new"],
        ["usage"],
        ["usage", "--format", "json"],
        ["vendors"],
        ["prices", "show", "openai/gpt-4o"],
        ["dead", "list", "--json"],
        ["reconcile"],
    ],
    ids=" ".join,
)
def test_a_command_whose_disk_is_full_fails_in_one_line(shell: Shell, words: list[str]) -> None:
    words = [shell.key.key_id if word == "KEY" else word for word in words]
    assert_failed(shell.run(full, *words))


@pytest.mark.parametrize("output", [full, closed])
def test_a_command_that_has_nothing_to_print_needs_no_stdout(
    shell: Shell, output: Callable[[], object]
) -> None:
    for words in (["db", "upgrade"], ["keys", "revoke", shell.key.key_id], ["dead", "list"]):
        assert shell.run(output, *words).returncode == 0


@pytest.mark.parametrize("output", [full, left])
def test_where_stderr_fails_too_the_exit_code_still_says_so(
    shell: Shell, output: Callable[[], object]
) -> None:
    for words in (["keys", "create", "acme"], ["keys", "revoke", "nowhere"], ["db", "upgrade"]):
        ran = shell.run(output, *words, descriptor=2)
        assert ran.returncode == 1, words
    assert len(shell.accounts.list_keys()) == 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_leaves_in_the_middle_is_told_of(shell: Shell, unbuffered: str) -> None:
    for number in range(700):
        shell.accounts.create(f"account-{number}", "x" * 200)
    command = [sys.executable, "-m", "app.cli", "accounts", "list", "--json"]
    with started(
        command,
        cwd=ROOT,
        env={**os.environ, **shell.env, "PYTHONUNBUFFERED": unbuffered},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1) == "["
        process.stdout.close()
        ended(process)
        told = process.stderr.read()
    assert (process.returncode, len(told.splitlines())) == (1, 1)


def test_what_stdout_cannot_encode_is_told(shell: Shell) -> None:
    shell.accounts.create("b", "Zoë ✓")
    shell.env["PYTHONIOENCODING"] = "latin-1"
    assert "encode" in assert_failed(shell.run(_devnull, "accounts", "list"))
    shell.env["PYTHONIOENCODING"] = "ascii"  # click helps itself
    assert shell.run(_devnull, "accounts", "list").returncode == 0
    assert_failed(shell.run(full, "accounts", "list"))


def test_a_file_that_cannot_be_written_is_told_and_stays_as_it_was(
    tmp_path: Path, shell: Shell
) -> None:
    """Such as the prices, without which nothing starts."""
    (tmp_path / "file").write_bytes(b"as it was")
    (tmp_path / ".file.new").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "file", b"x" * 100_000)
    assert (tmp_path / "file").read_bytes() == b"as it was"
    write_whole(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    (tmp_path / "var").write_text("a file where the directory should be")
    ran = shell.run(_devnull, "dev", "--var", str(tmp_path / "var" / "here"))
    assert ran.returncode == 1
    assert ran.stderr == f"Error: {tmp_path}/var/here: Not a directory.\n"


@contextmanager
def _devnull() -> Iterator[int]:
    yield subprocess.DEVNULL


def test_what_is_no_file_is_written_to_and_stays(tmp_path: Path) -> None:
    """`--output /dev/null`, run by root, must not replace the device of the whole host."""
    pipe, link, target = (tmp_path / name for name in ("pipe", "link", "target"))
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, b"to the pipe")
    assert os.read(reader, 100) == b"to the pipe"
    os.close(reader)
    assert pipe.is_fifo()
    target.write_bytes(b"before")
    target.chmod(0o600)
    link.symlink_to(target)
    write_whole(link, b"after")
    assert link.is_symlink()
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (b"after", 0o600)
    link.unlink()
    link.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        write_whole(link, b"x")


def test_an_error_does_not_repeat_a_key() -> None:
    secret = new_secret()
    assert readable(f"There is no key {secret}.") == f"There is no key {secret[:11]}…."


def test_a_file_that_cannot_be_written_is_named_as_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "invoice.csv"
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(path, b"x")
    assert caught.value.filename == str(path)
