"""The command line's output: where it cannot be written, the command has failed.

Python and click take a closed output for none, and a reader that has left for no fault; what was
to be printed may be a key that nobody will see again.
"""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click


class OutputFailed(click.ClickException):
    """Something could not be printed; the command ends with exit code 1, and one line if it can."""


@contextlib.contextmanager
def checked_output() -> Iterator[None]:
    """Have each write to stdout and stderr raise OutputFailed where it fails.

    One that failed gets no more: what is left of it would fail again when Python ends.
    """
    before = sys.stdout, sys.stderr
    checked = _Checked(before[0], "stdout"), _Checked(before[1], "stderr")
    sys.stdout, sys.stderr = checked
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        for stream in checked:
            stream.leave()


def write_whole(path: Path, content: bytes) -> None:
    """Put a file in the place of another, or leave that as it is.

    Raises: OSError.
    """
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_bytes(content)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


class _Checked:
    """A stream of text or of bytes, or None, where the process was started without."""

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

    def leave(self) -> None:
        """Have what is left unwritten go nowhere, if writing has failed."""
        if self._has_failed and self._stream is not None:
            with contextlib.suppress(OSError, ValueError):  # no file of the system's
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self._stream.fileno())
                os.close(nowhere)

    @contextlib.contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as exc:  # ValueError: closed since, or not to be encoded
            self._has_failed = True
            raise self._failed(getattr(exc, "strerror", None) or str(exc)) from exc

    def _failed(self, reason: str) -> OutputFailed:
        return OutputFailed(f"Nothing can be written to {self._name}: {reason}.")


def _written_whole(stream: Any) -> Any:
    """Return a stream that raises where not all was written.

    Under PYTHONUNBUFFERED, Python's own drops what the system did not take at once.
    """
    if not isinstance(getattr(stream, "buffer", None), io.RawIOBase):
        return stream
    return open(stream.fileno(), "w", encoding=stream.encoding, errors=stream.errors, closefd=False)
