"""The script of faults: which process or service has which fault for how long, by a seed."""

import heapq
import itertools
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from tests.chaos.fault import MEMORY, SPOOL, Fault, Repair, nothing
from tests.chaos.processes import Process, send
from tests.chaos.system import System
from tests.chaos.traps import CLOCK, FULL_DISK, JUMP_S

#: Moments of a process, and the faults that may happen at each.
MOMENTS = {
    "before the open record": ("SIGKILL", CLOCK),
    "before the vendor call": ("SIGKILL",),
    "after the vendor's status line": ("SIGKILL",),
    "mid-stream": ("SIGKILL",),
    "after the last byte, before the event": ("SIGKILL", "SIGSTOP"),
    "after the event": ("SIGKILL", "SIGSTOP"),
    "between Redis and the journal": ("SIGKILL", "SIGSTOP"),
    "in the journal's write": ("SIGKILL", "SIGSTOP"),
    "in the spool's write": ("SIGKILL", "SIGSTOP"),
    "between a replay and the end of its file": ("SIGKILL",),
    "between claim and commit": ("SIGKILL", "SIGSTOP"),
    "between commit and ack": ("SIGKILL", "SIGSTOP"),
    "after the ack": ("SIGKILL",),
    "after a reaped event": ("SIGKILL",),
}


@dataclass
class Script:
    """Causes faults until the time is over; then everything is repaired.

    `haste` divides the pauses, as it does the waiting times of what is under test.
    `only`: the names of the faults; all of them by default.
    """

    system: System
    seed: int
    haste: float = 1.0
    only: Sequence[str] = ()
    struck: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._dice = random.Random(f"{self.seed} faults")  # noqa: S311 - repeatable
        self._repairs: list[tuple[float, int, Fault, Repair]] = []
        self._numbers = itertools.count()
        self._stopped: dict[int, float] = {}
        #: Whether a fault may have made Redis forget something.
        self.has_forgotten = False

    def run(self, duration_s: float) -> None:
        """Cause faults for a time, then repair everything."""
        end_s = time.monotonic() + duration_s
        faults = [it for it in self._faults() if self._is_wanted(it)]
        # Each fault once in a random order before any comes again, so that a short run has them.
        waiting: list[Fault] = []
        while time.monotonic() < end_s:
            waiting = waiting or self._dice.sample(faults, len(faults))
            out = self._out()
            fault = next((it for it in waiting if not it.parties & out), None)
            if fault is not None:
                waiting.remove(fault)
                self._strike(fault)
            self._pass_time(time.monotonic() + self._dice.uniform(0.2, 1.8))
        self._mend()

    def _is_wanted(self, fault: Fault) -> bool:
        return not self.only or fault.name in self.only

    def _strike(self, fault: Fault) -> None:
        self.has_forgotten |= MEMORY in fault.parties
        repair = fault.strike()
        self._repair_after(self._dice.uniform(*fault.pause_s), fault, repair)
        self._log(f"{fault.party}: {fault.name}")
        if fault.party != "trap":
            self.struck[fault.name] += 1

    def _repair_after(self, pause_s: float, fault: Fault, repair: Repair) -> None:
        due_s = time.monotonic() + pause_s / self.haste
        heapq.heappush(self._repairs, (due_s, next(self._numbers), fault, repair))

    def _repair_next(self) -> None:
        _, _, fault, repair = heapq.heappop(self._repairs)
        self._log(f"repair of {fault.name}")
        if (after := repair()) is not None:
            self._repair_after(after[0], fault, after[1])

    def _log(self, what: str) -> None:
        """Write down what happened when, for whoever has to explain a verdict."""
        with (self.system.root / "script.log").open("a") as log:
            log.write(f"{datetime.now(UTC):%H:%M:%S.%f} {what}\n")

    def _out(self) -> set[str]:
        """Return the parties that have a fault, or are not over it."""
        out = {party for _, _, fault, _ in self._repairs for party in fault.parties}
        if not self.system.redis.is_whole():
            out.add("valkey")
        if not self.system.is_noted():
            out.add(MEMORY)
        if self.system.spools():
            out.add(SPOOL)
        return out

    def _pass_time(self, until_s: float) -> None:
        """Repair what is due, resume paused processes, restart those that ended."""
        while time.monotonic() < until_s:
            while self._repairs and self._repairs[0][0] <= time.monotonic():
                self._repair_next()
            self._wake_the_trapped()
            self.system.keep_up(out={fault.party for _, _, fault, _ in self._repairs})
            time.sleep(0.02)

    def _wake_the_trapped(self) -> None:
        now_s = time.monotonic()
        for sprung in (self.system.traps / "sprung").iterdir():
            moment, _, pid = sprung.name.rpartition(".")
            what = sprung.read_text()
            sprung.unlink()
            self.struck[f"{moment}: {what}"] += 1
            self._log(f"{moment}: {what}, pid {pid}")
            if what == "SIGSTOP":
                self._stopped[int(pid)] = now_s + self._dice.uniform(1, 45) / self.haste
        for stopped, due_s in tuple(self._stopped.items()):
            if due_s <= now_s:
                send(signal.SIGCONT, stopped)
                del self._stopped[stopped]

    def _mend(self) -> None:
        for moment in MOMENTS:
            (self.system.traps / moment).unlink(missing_ok=True)
        while self._repairs:
            self._repair_next()
        self._wake_the_trapped()
        for pid in self._stopped:
            send(signal.SIGCONT, pid)
        self._pass_time(time.monotonic() + 0.1)

    def _faults(self) -> list[Fault]:
        system = self.system
        faults = [
            Fault(process.name, f"{kind} {name}", partial(strike, process), pause_s)
            for kind, processes in (
                ("web", [*system.webs.values()]),
                ("worker", system.workers),
                ("beat", [system.beat]),
            )
            for process in processes
            for name, strike, pause_s in self._process_faults()
            if not (kind == "beat" and name == "child killed")
        ]
        faults.append(Fault("beat", "beat's clock set back", self._slow_beat, (5, 10)))
        faults += system.redis.faults(self._dice)
        faults += [
            Fault("ledger", f"ledger {name}", partial(self._ledger, befall), (1, 12))
            for name, befall in system.ledger.faults.items()
        ]
        older = Fault("ledger", "ledger of an older backup", self._older_ledger, (3, 15), (MEMORY,))
        faults.append(older)
        faults.append(Fault("disk", "full disk", self._full_disk, (1, 10), (MEMORY,)))
        parties = ("valkey", MEMORY, SPOOL)
        faults.append(Fault("disk", "journals removed", self._journals_removed, (0, 0), parties))
        faults += [
            Fault("trap", moment, partial(self._set_trap, moment, what), (0.5, 0.5))
            for moment, whats in MOMENTS.items()
            for what in whats
        ]
        return faults

    def _process_faults(
        self,
    ) -> tuple[tuple[str, Callable[[Process], Repair], tuple[float, float]], ...]:
        return (
            ("child killed", self._child_killed, (0, 1)),
            ("killed", self._killed, (0, 5)),
            ("restarted", self._restarted, (2, 20)),
            ("paused", self._paused, (1, 45)),
        )

    def _child_killed(self, process: Process) -> Repair:
        process.kill_child(self._dice)
        return process.start

    def _killed(self, process: Process) -> Repair:
        process.kill()
        return process.start

    @staticmethod
    def _restarted(process: Process) -> Repair:
        process.leave()

        def start() -> None:
            process.kill()  # as an impatient platform does; most have left by now
            process.start()

        return start

    @staticmethod
    def _paused(process: Process) -> Repair:
        process.pause()
        return process.resume

    def _slow_beat(self) -> Repair:
        beat = self.system.beat
        beat.kill()
        beat.start({"CHAOS_CLOCK_BACK_S": str(JUMP_S)})

        def right() -> None:
            beat.kill()
            beat.start()

        return right

    def _ledger(self, befall: Callable[[random.Random], None]) -> Repair:
        befall(self._dice)
        return self.system.ledger.mend

    def _older_ledger(self) -> Repair:
        self.system.ledger.back_up()
        return self.system.restore_ledger

    def _full_disk(self) -> Repair:
        trap = self.system.traps / FULL_DISK
        trap.touch()

        def empty() -> None:
            trap.unlink()
            self.system.has_lost_copies()

        return empty

    def _journals_removed(self) -> Repair:
        self.system.remove_spool()
        return nothing

    def _set_trap(self, moment: str, what: str) -> Repair:
        new = self.system.traps / "new"
        new.write_text(what)
        os.rename(new, self.system.traps / moment)
        return nothing
