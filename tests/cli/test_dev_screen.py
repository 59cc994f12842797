"""What `tollgate dev` says at last."""

import shlex
import sys
from pathlib import Path

from app.cli.dev_screen import screen, variables_of_clients


def test_the_screen_is_short_and_names_where_to_look() -> None:
    shown = screen("http://127.0.0.1:8001", "tg_key", Path("/my var/dev-env"))
    lines = shown.splitlines()
    assert len(lines) <= 30
    assert "export OPENAI_BASE_URL=http://127.0.0.1:8001/v5" in lines
    assert "export OPENAI_API_KEY=tg_key" in lines
    assert shown.count("tg_key") == 1
    for text in ("8001/docs", "8001/dashboard", "sandbox/echo?status=429", ". '/my var/dev-env'"):
        assert text in shown
    assert f"{shlex.quote(sys.executable)} - <<'END'" in lines


def test_clients_read_the_address_and_the_key() -> None:
    found = variables_of_clients("http://h", "k")
    assert found == {"OPENAI_BASE_URL": "http://h/v5", "OPENAI_API_KEY": "k"}
