"""gunicorn's settings, and what it needs of the host."""

import socket
import threading
from pathlib import Path

import pytest

from app.startup.server_settings import (
    AddressFault,
    ServerSettings,
    address_fault,
    directory_fault,
    read_server_settings,
)


def test_settings_have_defaults_and_are_read() -> None:
    assert read_server_settings({}) == (ServerSettings(8000, 1, 20), {})
    env = {"PORT": "80", "WEB_CONCURRENCY": "4", "TOLLGATE_GRACE_S": "0"}
    assert read_server_settings(env) == (ServerSettings(80, 4, 0), {})


@pytest.mark.parametrize(
    ("variable", "texts"),
    [
        ("PORT", ["0", "65536", "http", "80.5", "²"]),
        ("WEB_CONCURRENCY", ["0", "-1", "two"]),
        ("TOLLGATE_GRACE_S", ["-1", "1.5", "20s"]),
    ],
)
def test_an_invalid_one_has_its_default_and_is_named(variable: str, texts: list[str]) -> None:
    for text in texts:
        settings, problems = read_server_settings({variable: text})
        assert settings == ServerSettings()
        assert list(problems) == [variable]
        assert problems[variable].startswith("must be a whole number from ")
        assert problems[variable].endswith(f"not {text!r}")


def test_a_port_in_use_is_a_fault_unless_it_is_released_in_time() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    in_use = AddressFault("Address already in use", "PORT")
    assert address_fault("127.0.0.1", port, wait_s=0) == in_use
    threading.Timer(0.2, listener.close).start()
    assert address_fault("127.0.0.1", port, wait_s=60) is None
    not_ours = AddressFault("Cannot assign requested address", "BIND")
    assert address_fault("::1", port, wait_s=0) in (None, not_ours)
    assert address_fault("192.0.2.1", port, wait_s=60) == not_ours


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    assert directory_fault(str(tmp_path)) is None
    assert directory_fault(None) is None
    fault = directory_fault(str(tmp_path / "none"))
    assert fault is not None
    assert fault.startswith(f"files cannot be created in {tmp_path}/none (No such file")
    assert "worker-tmp-dir" in fault


@pytest.mark.parametrize(
    "host",
    ["no-such-host.invalid", "127.0.0.1:8000", "unix:/run/web", "256.1.1.1", "ü..", "a" * 300],
)
def test_what_is_no_address_of_this_host_is_a_fault_of_bind(host: str) -> None:
    fault = address_fault(host, 8000, wait_s=0)
    assert fault is not None
    assert fault.variable == "BIND"
