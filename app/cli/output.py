"""Checks the command line's output: if it cannot be written, the command fails.

Python and click ignore a closed output and a reader that has exited. The lost output may be an API
key that is shown only once.
"""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copymode
from typing import Any

import click

from app.accounts.apikey import hide_keys

#: Longest line of an error, in characters.
LINE_LIMIT = 600


class OutputFailed(click.ClickException):
    """Output could not be written; the command exits with 1 and, if possible, one line."""


@contextlib.contextmanager
def checked_output() -> Iterator[None]:
    """Make each failed write to stdout or stderr raise OutputFailed.

    A stream that has failed is redirected to nowhere: its buffer would fail again at exit.
    """
    before = sys.stdout, sys.stderr
    checked = _Checked(before[0], "stdout"), _Checked(before[1], "stderr")
    sys.stdout, sys.stderr = checked
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        for stream in checked:
            stream.discard_if_failed()


def readable(message: str) -> str:
    """Return a message that cannot control a terminal, each line at most LINE_LIMIT characters.

    It may repeat an argument, which somebody has pasted: of an API key, its beginning stays.
    """
    return "\n".join(map(_readable_line, hide_keys(message).split("\n")))


def _readable_line(line: str) -> str:
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    if len(line) <= LINE_LIMIT:
        return line
    # The end says what to do next.
    return f"{line[: LINE_LIMIT // 2]} … {line[3 - LINE_LIMIT // 2 :]}"


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file atomically; it keeps its mode. A link's target is replaced, not the link.

    What is no file (a device such as /dev/null or /dev/stdout, a pipe) is written to as it is.
    Raises: OSError, with the path as it was given.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
        else:
            _replace(path.resolve(), content)
    except OSError as exc:
        raise OSError(exc.errno, exc.strerror, str(path)) from exc


def _replace(path: Path, content: bytes) -> None:
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_bytes(content)
        if path.exists():
            copymode(path, new)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


class _Checked:
    """A stream of text or bytes; None if the process was started without it."""

    def __init__(self, stream: Any, name: str) -> None:
        self._stream = _written_whole(stream)
        self._name = name
        self._has_failed = False

    def write(self, text: Any) -> int:
        if self._stream is None:
            raise self._failed("it is closed")
        with self._checked():
            return int(self._stream.write(text))

    def flush(self) -> None:
        if self._stream is not None:
            with self._checked():
                self._stream.flush()

    def isatty(self) -> bool:
        return self._stream is not None and bool(self._stream.isatty())

    @property
    def buffer(self) -> "_Checked":
        return _Checked(self._stream.buffer, self._name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def discard_if_failed(self) -> None:
        """If writing has failed, discard what is still buffered."""
        if self._has_failed and self._stream is not None:
            with contextlib.suppress(OSError, ValueError):  # not a file of the operating system
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self._stream.fileno())
                os.close(nowhere)

    @contextlib.contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as exc:  # ValueError: closed, or not encodable
            self._has_failed = True
            raise self._failed(getattr(exc, "strerror", None) or str(exc)) from exc

    def _failed(self, reason: str) -> OutputFailed:
        return OutputFailed(f"Cannot write to {self._name}: {reason}.")


def _written_whole(stream: Any) -> Any:
    """Return a stream that raises if it cannot write everything.

    Under PYTHONUNBUFFERED, Python's own stream drops what the system does not accept at once.
    """
    if not isinstance(getattr(stream, "buffer", None), io.RawIOBase):
        return stream
    return open(stream.fileno(), "w", encoding=stream.encoding, errors=stream.errors, closefd=False)
