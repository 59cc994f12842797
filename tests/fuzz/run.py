"""One run: callers who do their worst by seed, a stream beside them, and the reckoning."""

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.storage.redis.keys import EVENTS, OPEN
from app.usage.messages.event import UsageEvent
from tests.fuzz.peers import act
from tests.fuzz.target import Target, running_target
from tests.fuzz.wire import Said
from tests.support.services.polling import wait_until

CALLERS = 4

#: How often the stream's gap is looked at, in seconds.
SAMPLE_S = 0.25

#: What a caller may be told of its own request.
EXPECTED = {200, 204, 303, 400, 401, 403, 404, 405, 408, 409, 413, 414, 415, 417, 429, 431}


@dataclass
class FuzzReport:
    """What was done, and what came of it."""

    seed: int
    seconds: float
    acts: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    gaps_ms: list[tuple[float, float, str]] = field(default_factory=list)
    slow: list[tuple[float, str]] = field(default_factory=list)
    memory_mb: tuple[float, float, float] = (0.0, 0.0, 0.0)
    calls: int = 0
    events: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether everything was answered as it should be, and the books balance."""
        return not self.problems

    def lines(self) -> list[str]:
        """Return the figures, for people."""
        before, most, after = self.memory_mb
        worst = sorted(self.gaps_ms, reverse=True)[:8]
        return [
            f"seed {self.seed}, {self.seconds:.0f} s",
            f"  did       {sum(self.acts.values())}: {_counts(self.acts)}",
            f"  answers   {_counts(self.statuses)}",
            f"  memory    {before:.0f} MB, at most {most:.0f} MB, {after:.0f} MB at the end",
            f"  books     {self.calls} vendor calls, {self.events} events",
            *(
                f"  gap       {gap:5.0f} ms (the worker computed {busy:.0f} ms) during {what}"
                for gap, busy, what in worst
            ),
            *(f"  slow      {took_s:5.1f} s {what}" for took_s, what in self.slow),
            *(f"  WRONG     {problem}" for problem in self.problems[:50]),
        ]


def run_fuzz(root: Path, seed: int, seconds: float) -> FuzzReport:
    """Attack for so long, and return what was found."""
    report = FuzzReport(seed, seconds)
    with running_target(root) as target:
        before = target.memory_now_mb()
        target.forget_memory()
        callers = _Callers(target, report)
        callers.run(seconds)
        report.memory_mb = before, target.memory_mb(), target.memory_now_mb()
        if breaks := target.pacer.breaks():
            report.problems.append(f"the stream beside it ended {breaks} times")
        target.pacer.stop()
        _balance(target, report)
    log = target.log.read_text()
    report.problems += [f"logged: {line[:300]}" for line in log.splitlines() if "Traceback" in line]
    return report


class _Callers:
    """Threads that act, each with dice of its own, and one that looks at the stream."""

    def __init__(self, target: Target, report: FuzzReport) -> None:
        self._target = target
        self._report = report
        self._over = threading.Event()
        self._doing: dict[int, str] = {}

    def run(self, seconds: float) -> None:
        """Act for so long, and to the end of what has begun."""
        threads = [threading.Thread(target=self._act, args=(n,)) for n in range(CALLERS)]
        for thread in threads:
            thread.start()
        until_s = time.monotonic() + seconds
        self._target.pacer.worst_gap_ms()
        while any(thread.is_alive() for thread in threads):
            time.sleep(SAMPLE_S)
            doing = ", ".join(sorted(self._doing.values()))
            self._report.gaps_ms.append((*self._target.pacer.worst_gap_ms(), doing))
            self._report.gaps_ms.sort(reverse=True)
            del self._report.gaps_ms[20:]
            if time.monotonic() > until_s:
                self._over.set()

    def _act(self, number: int) -> None:
        target, count = self._target, 0
        while not self._over.is_set():
            count += 1
            tag, began_s = f"f{number}-{count}", time.monotonic()
            dice = random.Random(f"{self._report.seed} {tag}")  # noqa: S311 - repeatable
            self._doing[number] = tag
            try:
                name, said = act(dice, target.address, target.gateway.api_key, tag)
            except Exception as exc:  # noqa: BLE001 - a finding like any other
                self._report.problems.append(f"{tag}: {exc!r}")
                continue
            self._doing[number] = f"{tag} {name}"
            self._report.acts[name] += 1
            self._report.slow.append(
                (time.monotonic() - began_s, f"{tag} {name} {said and said.status}")
            )
            self._report.slow = sorted(self._report.slow, reverse=True)[:5]
            if said is not None:
                self._judge(f"{tag} {name}", said)

    def _judge(self, what: str, said: Said) -> None:
        self._report.statuses[str(said.status)] += 1
        # A connection that ends or breaks without an answer, or one that is our fault.
        if said.status not in EXPECTED or said.ended == "hung":
            told = said.body[:200]
            self._report.problems.append(f"{what}: {said.status} {said.ended} {told!r}")


def _balance(target: Target, report: FuzzReport) -> None:
    """Hold the vendor's calls against the events, by the user that each names."""
    redis: Any = target.gateway.redis
    wait_until(lambda: not redis.hlen(OPEN), deadline_s=60)
    events = [UsageEvent.decode(record[b"event"]) for _, record in redis.xrange(EVENTS)]
    recorded = Counter(event.user for event in events if event.vendor == "sim")
    called = Counter(target.calls)
    report.calls, report.events = sum(called.values()), len(events)
    for user, calls in called.items():
        if user is not None and user.startswith("f") and recorded[user] != calls:
            report.problems.append(f"{user}: {calls} calls, {recorded[user]} events")
    if sum(recorded.values()) < sum(called.values()):
        report.problems.append("there are fewer events than vendor calls")


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
