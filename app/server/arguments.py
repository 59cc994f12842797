"""Checks GUNICORN_CMD_ARGS, which gunicorn reads before anything of Tollgate runs."""

import io
import shlex
from argparse import Namespace
from collections.abc import Mapping
from contextlib import redirect_stderr

from gunicorn.config import Config
from gunicorn.errors import ConfigError

VARIABLE = "GUNICORN_CMD_ARGS"

#: The only worker class that serves Tollgate.
WORKER_CLASS = "app.server.worker.WebWorker"


def arguments_fault(env: Mapping[str, str]) -> str | None:
    """Return why gunicorn, or Tollgate in it, cannot run with these options; None if it can."""
    try:
        given = _parsed(shlex.split(env.get(VARIABLE, "")))
    except ValueError as exc:
        return f"is invalid ({exc}): correct or remove the option"
    if given.worker_class not in {None, WORKER_CLASS}:
        return f"must not set the worker class to {given.worker_class!r}: remove `--worker-class`"
    return None


def temporary_directory_given(env: Mapping[str, str]) -> str | None:
    """Return the directory that `--worker-tmp-dir` names; None without one."""
    try:
        directory: str | None = _parsed(shlex.split(env.get(VARIABLE, ""))).worker_tmp_dir
    except ValueError:  # which `arguments_fault` reports
        return None
    return directory


def _parsed(words: list[str]) -> Namespace:
    """Return the options.

    Raises: ValueError with gunicorn's message.
    """
    config, printed = Config(), io.StringIO()
    try:
        with redirect_stderr(printed):
            given: Namespace = config.parser().parse_args(words)
    except SystemExit:
        raise ValueError(printed.getvalue().rpartition("error: ")[2].strip()) from None
    for name, value in vars(given).items():
        if name != "args" and value is not None:
            try:
                config.set(name, value)
            except (ConfigError, TypeError, ValueError, OSError, RuntimeError) as exc:
                raise ValueError(f"{name}: {exc}") from None
    return given
