"""Alarms about what a host keeps on its disk: the spool and the journals."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.usage.disk.spool import foreign_files, spool_fault, spooled_bytes
from app.usage.disk.spool_disk import ENOUGH_BYTES, free_bytes


@dataclass(frozen=True, slots=True)
class DiskAlarms:
    """Checks the disk of one host.

    `writes` means that this process writes to the directory itself; it keeps a journal if `copies`,
    whose fault `journal_fault` returns.
    """

    directory: Path
    writes: bool = False
    copies: bool = True
    journal_fault: Callable[[], str | None] = lambda: None

    def check(self) -> tuple[int, dict[str, str]]:
        """Return the number of bytes in the spool, and the alarms: stable names and messages."""
        size, directory = spooled_bytes(self.directory), self.directory
        alarms = self._journal()
        if size:
            alarms["spool"] = f"{size} bytes of usage are in this host's spool, waiting for Redis."
        if foreign := foreign_files(directory):
            alarms["spool_foreign"] = (
                f"{foreign} files in {directory} hold usage and belong to another user: change"
                " their owner to the user of the web processes."
            )
        if self.writes and (fault := spool_fault(directory)):
            alarms["spool_unusable"] = (
                f"The spool directory {directory} is not writable ({fault}): without Redis,"
                " requests are rejected. Set TOLLGATE_SPOOL_DIR to a directory that the web"
                " processes can write to."
            )
        elif self.writes:
            alarms |= _room(directory, free_bytes(directory))
        return size, alarms

    def _journal(self) -> dict[str, str]:
        if not self.copies:
            return {
                "journal_off": "TOLLGATE_JOURNAL is off: what Redis loses before the ledger has it"
                " is lost, though it is counted."
            }
        if (fault := self.journal_fault()) is None:
            return {}
        return {
            "journal": f"The journal in {self.directory} is incomplete: {fault}. What Redis loses"
            " before the ledger has it may be lost."
        }


def _room(directory: Path, free: int | None) -> dict[str, str]:
    if free is None or free >= ENOUGH_BYTES:
        return {}
    return {
        "spool_disk": (
            f"Only {free >> 20} MiB are free on the disk of the spool {directory}. An hour without"
            f" Redis may need {ENOUGH_BYTES >> 20} MiB. Free some, or set TOLLGATE_SPOOL_DIR to a"
            " directory on another disk."
        )
    }
