"""The script of faults: which process or service has which fault for how long, by a seed."""

import heapq
import itertools
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from redis import Redis

from tests.chaos.processes import Process, send
from tests.chaos.system import System
from tests.chaos.traps import CLOCK, JUMP_S

#: Entries that no ledger can store.
POISON: tuple[dict[str, str], ...] = (
    {"event": "not JSON"},
    {"event": '{"event_id": "1"}'},
    {"something": "else"},
)

#: Moments of a process, and the faults that may happen at each.
MOMENTS = {
    "before the open record": ("SIGKILL", CLOCK),
    "before the vendor call": ("SIGKILL",),
    "after the vendor's status line": ("SIGKILL",),
    "mid-stream": ("SIGKILL",),
    "after the last byte, before the event": ("SIGKILL", "SIGSTOP"),
    "after the event": ("SIGKILL", "SIGSTOP"),
    "in the spool's write": ("SIGKILL", "SIGSTOP"),
    "between a replay and the end of its file": ("SIGKILL",),
    "between claim and commit": ("SIGKILL", "SIGSTOP"),
    "between commit and ack": ("SIGKILL", "SIGSTOP"),
    "after the ack": ("SIGKILL",),
    "after a reaped event": ("SIGKILL",),
}

Repair = Callable[[], None]


@dataclass(frozen=True)
class Fault:
    """One fault. `strike` causes it and returns its repair, which is due after `pause_s`."""

    party: str
    name: str
    strike: Callable[[], Repair]
    pause_s: tuple[float, float]


@dataclass
class Script:
    """Causes faults until the time is over; then everything is repaired.

    `haste` divides the pauses, as it does the waiting times of what is under test.
    """

    system: System
    seed: int
    haste: float = 1.0
    struck: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._dice = random.Random(f"{self.seed} faults")  # noqa: S311 - repeatable
        self._repairs: list[tuple[float, int, str, Repair]] = []
        self._numbers = itertools.count()
        self._stopped: dict[int, float] = {}

    def run(self, duration_s: float) -> None:
        """Cause faults for a time, then repair everything."""
        end_s = time.monotonic() + duration_s
        faults = list(self._faults())
        # Each fault once in a random order before any comes again, so that a short run has them.
        waiting: list[Fault] = []
        while time.monotonic() < end_s:
            waiting = waiting or self._dice.sample(faults, len(faults))
            out = {party for _, _, party, _ in self._repairs}
            fault = next((f for f in waiting if f.party not in out), None)
            if fault is not None:
                waiting.remove(fault)
                self._strike(fault)
            self._heartbeat_and_replay(time.monotonic() + self._dice.uniform(0.2, 1.8))
        self._mend()

    def _strike(self, fault: Fault) -> None:
        repair = fault.strike()
        due_s = time.monotonic() + self._dice.uniform(*fault.pause_s) / self.haste
        heapq.heappush(self._repairs, (due_s, next(self._numbers), fault.party, repair))
        if fault.party != "trap":
            self.struck[fault.name] += 1

    def _heartbeat_and_replay(self, until_s: float) -> None:
        """Repair what is due, resume paused processes, restart those that ended."""
        while time.monotonic() < until_s:
            while self._repairs and self._repairs[0][0] <= time.monotonic():
                heapq.heappop(self._repairs)[3]()
            self._wake_the_trapped()
            self.system.keep_up(out={party for _, _, party, _ in self._repairs})
            time.sleep(0.02)

    def _wake_the_trapped(self) -> None:
        now_s = time.monotonic()
        for sprung in (self.system.traps / "sprung").iterdir():
            moment, _, pid = sprung.name.rpartition(".")
            what = sprung.read_text()
            sprung.unlink()
            self.struck[f"{moment}: {what}"] += 1
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
            heapq.heappop(self._repairs)[3]()
        self._wake_the_trapped()
        for pid in self._stopped:
            send(signal.SIGCONT, pid)
        self._heartbeat_and_replay(time.monotonic() + 0.1)

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
        valkey_faults: tuple[tuple[str, Callable[[], Repair]], ...] = (
            ("killed", self._valkey_killed),
            ("stopped", self._valkey_stopped),
            ("paused", self._valkey_paused),
            ("full", partial(self._valkey_set, "maxmemory", "1", "0")),
            ("read-only", partial(self._valkey_set, "min-replicas-to-write", "1", "0")),
            ("disconnected", self._valkey_disconnected),
        )
        faults += [Fault("valkey", f"valkey {n}", strike, (1, 8)) for n, strike in valkey_faults]
        faults += [
            Fault("ledger", f"ledger {name}", partial(self._ledger, befall), (1, 12))
            for name, befall in system.ledger.faults.items()
        ]
        # While Valkey works: each of them must become one dead letter.
        faults.append(Fault("valkey", "poison event", self._poison, (0, 0)))
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

    def _valkey_killed(self) -> Repair:
        self.system.valkey.kill()
        return self._start_valkey

    def _valkey_stopped(self) -> Repair:
        self.system.valkey.stop()
        return self._start_valkey

    def _start_valkey(self) -> None:
        self.system.valkey.start()

    def _valkey_paused(self) -> Repair:
        self.system.valkey.pause()
        return self.system.valkey.resume

    def _valkey_set(self, name: str, value: str, usual: str) -> Repair:
        self._configure(name, value)
        return partial(self._configure, name, usual)

    def _configure(self, name: str, value: str) -> None:
        with Redis.from_url(self.system.valkey.url) as redis:
            redis.config_set(name, value)

    def _valkey_disconnected(self) -> Repair:
        with Redis.from_url(self.system.valkey.url) as redis:
            redis.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        return nothing

    def _ledger(self, befall: Callable[[random.Random], None]) -> Repair:
        befall(self._dice)
        return self.system.ledger.mend

    def _poison(self) -> Repair:
        with Redis.from_url(self.system.valkey.url) as redis:
            redis.xadd("usage:events", self._dice.choice(POISON))
        return nothing

    def _set_trap(self, moment: str, what: str) -> Repair:
        new = self.system.traps / "new"
        new.write_text(what)
        os.rename(new, self.system.traps / moment)
        return nothing


def nothing() -> None:
    """Repair nothing."""
