"""Running `tollgate` in this process, on a ledger of the test's own."""

from dataclasses import dataclass

from click.testing import CliRunner, Result
from sqlalchemy import Engine

from app.cli import main


@dataclass(frozen=True)
class Tollgate:
    """The command line, with DATABASE_URL set."""

    database_url: str
    engine: Engine

    def run(self, *arguments: str, exit_code: int = 0) -> Result:
        """Run a command that must end with `exit_code`."""
        result = CliRunner().invoke(main, arguments, env={"DATABASE_URL": self.database_url})
        assert result.exit_code == exit_code, result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result
