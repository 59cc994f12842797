"""Running `tollgate` in this process, on a ledger of the test's own."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from click.testing import CliRunner, Result
from sqlalchemy import Engine

from app.cli import main


@dataclass(frozen=True)
class Tollgate:
    """The command line, with DATABASE_URL set."""

    database_url: str
    engine: Engine
    env: Mapping[str, str] = field(default_factory=dict)

    def run(self, *arguments: str, exit_code: int = 0, stdin: str = "") -> Result:
        """Run a command that must end with `exit_code`."""
        # Commands wait as long as web processes cache keys: here, there are none.
        env = {"DATABASE_URL": self.database_url, "TOLLGATE_KEY_CACHE_S": "0.001", **self.env}
        result = CliRunner().invoke(main, arguments, env=env, input=stdin)
        assert result.exit_code == exit_code, result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result
