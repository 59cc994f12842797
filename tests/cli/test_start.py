"""`tollgate start`: what it refuses before it starts anything; tests/e2e/test_start.py runs it."""

from click.testing import CliRunner

from app.cli import main


def test_an_invalid_setting_starts_nothing() -> None:
    for env, message in (
        ({"REDIS_URL": None}, "Error: REDIS_URL is not set"),
        (
            {"REDIS_URL": "redis://127.0.0.1:1/0", "WEB_CONCURRENCY": "many"},
            "Error: WEB_CONCURRENCY must be a whole number from 1 to 1000, not 'many'.",
        ),
    ):
        result = CliRunner().invoke(main, ["start"], env=env)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith(message)
        assert result.stderr.endswith("See `tollgate config check`.\n")
