"""The verdict: the vendor's call log and the callers' responses, compared with the ledger."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa
from sqlalchemy import Engine, RowMapping

from app.ledger.reconcile import day_ranges, differences
from app.storage.sql.tables import entries
from app.usage.metering.estimate import count_tokens
from tests.chaos.load import Asked
from tests.chaos.numbers import NO_NUMBERS, Key, Numbers
from tests.chaos.served import Call
from workers.reaper import CHARS_PER_TOKEN


@dataclass
class Verdict:
    """The result. `problems` describes what is wrong, one line per request."""

    calls: int = 0
    entries: int = 0
    missing: int = 0
    told: int = 0
    uncalled: int = 0
    unopened: frozenset[Key] = frozenset()
    doubled: int = 0
    exact: int = 0
    estimated: int = 0
    unreached: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    worst_error_tokens: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether nothing is missing, counted twice or wrong.

        What is told to be missing is none of these, if no fault has left a copy of it.
        """
        return not (self.missing or self.doubled or self.problems)

    def judge(
        self,
        tag: str,
        calls: Sequence[Call],
        rows: Sequence[RowMapping],
        *,
        is_lost: bool = False,
    ) -> None:
        """Compare the calls of one request with its entries.

        `is_lost`: every copy was destroyed, and Tollgate says that it is missing.
        """
        self.calls += len(calls)
        self.entries += len(rows)
        self.statuses.update(row["status"] for row in rows)
        if calls and not rows and is_lost:
            self.told += 1
        elif calls and not rows:
            self.missing += 1
            self.problems.append(f"{tag}: {len(calls)} calls and no entry")
        if len(rows) > 1:
            self.doubled += 1
            self.problems.append(f"{tag}: {len(rows)} entries")
        if rows and not calls:
            self.unreached += 1
            self.problems += [f"{tag}: {it}" for row in rows for it in of_no_call(row)]
        if rows and calls:
            self._judge_tokens(tag, calls, rows[0])

    def _judge_tokens(self, tag: str, calls: Sequence[Call], row: RowMapping) -> None:
        last, status, source = calls[-1], row["status"], row["source"]
        if status != "abandoned" and row["attempts"] < len(calls):
            self.problems.append(f"{tag}: {len(calls)} calls, {row['attempts']} attempts")
        told = (row["prompt_tokens"], row["completion_tokens"])
        if source in ("vendor", "read"):
            self.exact += 1
            if told != (last.prompt_tokens, last.completion_tokens):
                self.problems.append(f"{tag}: {told} is not what the vendor counted")
        elif source == "estimated":
            self.estimated += 1
            self.problems += [f"{tag}: {it}" for it in of_an_estimate(calls, row)]
            self._note_error(status, sum(told), last)
        elif not last.refused:  # source none: nothing was used
            self.problems.append(f"{tag}: used, but recorded as unused")

    def _note_error(self, status: str, told: int, last: Call) -> None:
        owed = 0 if last.refused else last.prompt_tokens + last.sent_tokens
        worst = self.worst_error_tokens.get(status, 0)
        self.worst_error_tokens[status] = max(worst, abs(told - owed))


def of_no_call(row: RowMapping) -> Iterator[str]:
    """Yield what is wrong with the entry of a request that never reached the vendor.

    It has used nothing. Only where the process died nobody knows whether it had called, and the
    prompt is taken for read.
    """
    status, source = row["status"], row["source"]
    if status in ("completed", "truncated"):
        yield f"{status}, though no call was made"
    if row["completion_tokens"]:
        yield f"{row['completion_tokens']} tokens of an answer that nobody gave"
    if source != ("estimated" if status == "abandoned" else "none"):
        yield f"{status}, source {source}, though no call was made"
    if source == "none" and row["total_tokens"]:
        yield f"{row['total_tokens']} tokens that nobody used"


def of_an_estimate(calls: Sequence[Call], row: RowMapping) -> Iterator[str]:
    """Yield what is wrong with an entry that our own count makes.

    The prompt is counted as the vendor counts it. If the process crashed, it may be counted by its
    length, and once for each attempt: the last checkpoint may come from between two attempts, when
    nothing told yet that the vendor had not read the first. Of the answer nothing is counted that
    was not sent; what was still on its way when the call was cut may be missing.
    """
    status, last = row["status"], calls[-1]
    prompt, completion = row["prompt_tokens"], row["completion_tokens"]
    if status == "completed":
        yield "completed, but estimated"
    right = {last.prompt_tokens}
    if status == "abandoned":
        # The first attempt may have begun after the checkpoint.
        right = {last.prompt_tokens * count for count in range(1, max(1, row["attempts"]) + 1)}
        right.add(-(-len(last.prompt) // CHARS_PER_TOKEN))
    if prompt not in right:
        yield f"{prompt} tokens of a prompt of {last.prompt_tokens}, {status}"
    sent = sum(call.sent_tokens for call in calls)
    if completion > sent:
        yield f"{completion} tokens of an answer of which {sent} were sent, {status}"


def verdict(
    engine: Engine,
    served: Mapping[str, Sequence[Call]],
    asked: list[Asked],
    numbers: Numbers = NO_NUMBERS,
    *,
    accepts_former: bool = False,
) -> Verdict:
    """Compare the ledger with all that was served, once the system has converged.

    `accepts_former`: workers of an older version have posted, which count fewer requests as failed.
    """
    by_tag: defaultdict[str, list[RowMapping]] = defaultdict(list)
    with engine.connect() as connection:
        for row in connection.execute(sa.select(entries)).mappings():
            by_tag[str(row["user"]).partition(" ")[0]].append(row)
    found, lost = Verdict(problems=list(numbers.problems())), numbers.lost
    for tag in sorted({*served, *by_tag}):
        found.judge(tag, served.get(tag, ()), by_tag.get(tag, ()), is_lost=tag in lost)
    found.unopened = numbers.unopened
    found.uncalled = len(numbers.told) - len(found.unopened) - found.told
    for one in asked:
        found.problems += of_an_answer(one, served.get(one.tag, ()), by_tag.get(one.tag, ()))
    wrong = [
        it
        for days in day_ranges(engine)
        for it in differences(engine, days, accepts_former=accepts_former)
    ]
    found.problems += [f"a rollup is not the sum of its entries: {it}" for it in wrong]
    return found


def of_an_answer(asked: Asked, calls: Sequence[Call], rows: Sequence[RowMapping]) -> list[str]:
    """Return what is wrong with the entry of a request, by what its caller got."""
    problems = []
    if any(row["account_id"] != asked.account_id for row in rows):
        problems.append(f"{asked.tag}: on another account than {asked.account_id}")
    for row in rows:
        had = count_tokens(asked.text)
        # A process that dies has written down how far it had come some seconds before.
        if row["status"] != "abandoned" and row["completion_tokens"] < had:
            problems.append(f"{asked.tag}: {row['completion_tokens']} tokens; its caller has {had}")
    if asked.ending == "whole":
        if not calls or asked.text != calls[-1].text:
            problems.append(f"{asked.tag}: the caller's answer is not the vendor's")
        # Only a crash between the last byte and the event leaves an estimate of a whole response.
        if any(row["status"] not in ("completed", "abandoned") for row in rows):
            problems.append(f"{asked.tag}: answered whole, and {rows[0]['status']}")
    return problems
