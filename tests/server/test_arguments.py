"""Options of gunicorn that it refuses are named before a web process starts."""

import pytest

from app.server.arguments import arguments_fault


@pytest.mark.parametrize(
    "text", ["", "--workers 3 --timeout=90", "-w 2 --worker-tmp-dir '/dev/shm'", "--reuse-port"]
)
def test_options_of_gunicorn_are_accepted(text: str) -> None:
    assert arguments_fault({"GUNICORN_CMD_ARGS": text}) is None
    assert arguments_fault({}) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("--wokers 3", "unrecognized arguments: --wokers"),
        ("--workers=three", "invalid int value: 'three'"),
        ("--workers=-3", "workers: Value must be positive: -3"),
        ("--statsd-host 'a", "No closing quotation"),
        ("-k sync", "must not set the worker class to 'sync': remove `--worker-class`"),
    ],
)
def test_others_are_named(text: str, problem: str) -> None:
    fault = arguments_fault({"GUNICORN_CMD_ARGS": text})
    assert problem in (fault or "")
    assert "\n" not in (fault or "")
