"""The file that `tollgate dev` leaves for other terminals."""

import stat
import subprocess
from pathlib import Path

from app.devstack.running import dev_env_path, exports, left, read, running_dev
from tests.support.gateway import Gateway

VARIABLES = {"A_URL": "redis://127.0.0.1:1/0", "A_PATH": "/var/it's here/$HOME"}


def test_a_shell_and_a_command_read_the_same(tmp_path: Path) -> None:
    path = tmp_path / "dev-env"
    with left(path, VARIABLES):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert read(path) == VARIABLES
        shown = ["sh", "-c", '. "$0"; printf "%s\n" "$A_URL" "$A_PATH"', str(path)]
        told = subprocess.run(shown, capture_output=True, text=True, check=True)
        assert told.stdout.splitlines() == list(VARIABLES.values())
    assert not path.exists()
    assert read(path) == {}


def test_a_file_that_was_left_over_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "dev-env"
    path.write_text("export OLD=1\n")
    path.chmod(0o644)
    with left(path, VARIABLES):
        assert read(path) == VARIABLES
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_another_file_has_no_variables(tmp_path: Path) -> None:
    path = tmp_path / "dev-env"
    for text in ("it's", "", "two words\n", "word\n"):
        path.write_text(text)
        assert read(path) == {}
    path.write_bytes(b"\xff")
    assert read(path) == {}


def test_a_line_can_be_pasted() -> None:
    assert list(exports({"KEY": "tg_1"})) == ["export KEY=tg_1"]


def test_one_that_runs_is_known_with_its_vendors_and_settings(
    tmp_path: Path, gateway: Gateway
) -> None:
    clients = {"OPENAI_BASE_URL": gateway.base_url, "OPENAI_API_KEY": gateway.api_key}
    path = dev_env_path({"TOLLGATE_VAR": str(tmp_path)})
    assert running_dev(path) is None
    with left(path, {**clients, "REDIS_URL": "redis://r"}):
        found = running_dev(path)
    assert found is not None
    assert (found.base_url, found.settings) == (gateway.base_url, {"REDIS_URL": "redis://r"})
    assert "sim" in found.vendors
    assert "keyless" not in found.vendors


def test_one_that_was_killed_or_has_another_key_does_not_run(
    tmp_path: Path, gateway: Gateway
) -> None:
    for url, key in ((gateway.base_url, "tg_other"), ("http://127.0.0.1:1/v5", gateway.api_key)):
        with left(tmp_path / "f", {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": key}):
            assert running_dev(tmp_path / "f") is None
    with left(tmp_path / "f", {"OPENAI_BASE_URL": gateway.base_url}):
        assert running_dev(tmp_path / "f") is None


def test_the_file_is_in_var_unless_a_setting_says_where() -> None:
    assert dev_env_path({}) == dev_env_path({"TOLLGATE_VAR": ""}) == Path("var/dev-env")
