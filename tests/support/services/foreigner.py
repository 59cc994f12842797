"""Running programs as a user who owns nothing here, from a checkout that nobody may change."""

import os
import shutil
import tempfile
from pathlib import Path

from app.settings import ROOT

#: `nobody`, of Debian and others.
NOBODY = 65534


def as_foreigner() -> list[str]:
    """Return what a command begins with to run as `nobody`; empty where we are not root.

    It may read everything, since Python may be where only root looks, and write nothing of others'.
    """
    if os.geteuid() != 0:
        return []
    capabilities = "-all,+dac_read_search"
    return [
        *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
        *(f"--inh-caps={capabilities}", f"--ambient-caps={capabilities}"),
    ]


class Checkout:
    """A copy of what is deployed, read-only; `data` is a folder that the foreigner owns."""

    def __init__(self) -> None:
        # Not below pytest's folder, which only its own user may enter.
        self._folder = Path(tempfile.mkdtemp(prefix="tollgate-foreign-"))
        self._folder.chmod(0o755)
        self.root = self._folder / "checkout"
        for name in ("app", "workers", "config"):
            shutil.copytree(
                ROOT / name, self.root / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        for path in (self.root, *self.root.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        self.data = self._folder / "data"
        (self.data / "tmp").mkdir(parents=True)
        if os.geteuid() == 0:
            for path in (self.data, self.data / "tmp"):
                os.chown(path, NOBODY, NOBODY)

    def remove(self) -> None:
        """Remove it all."""
        for path in self.root.rglob("*"):
            if path.is_dir():
                path.chmod(0o755)
        self.root.chmod(0o755)
        shutil.rmtree(self._folder)
