"""The numbers of all requests: what was opened, what the ledger has, and what Tollgate misses.

Each web process under test writes down the requests that it opens, before their vendor is called.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from redis import Redis
from sqlalchemy import Engine, select

from app.ledger.process_numbers import read_processes
from app.storage.sql.tables import entries
from app.usage.disk.segments import KINDS
from app.usage.messages.numbered import numbered
from app.usage.missing import Missing
from app.usage.redis.processes import Processes

#: A request: its process, and its number among those of the process.
Key = tuple[str, int]

#: Files that the processes under test write: the requests that they opened, and what a full disk
#: kept them from copying.
OPENED, UNKEPT = "opened.jsonl", "unkept.jsonl"


@dataclass(frozen=True)
class Numbers:
    """`opened` has the event id and the tag of each request; `told` is what Tollgate misses.

    `excused`: each copy of these was destroyed, or what had been posted.
    """

    opened: Mapping[Key, tuple[str, str]] = field(default_factory=dict)
    posted: frozenset[str] = frozenset()
    told: frozenset[Key] = frozenset()
    excused: frozenset[Key] = frozenset()
    noted: frozenset[Key] = frozenset()

    @property
    def lacking(self) -> frozenset[Key]:
        """The opened requests that the ledger lacks."""
        return frozenset(
            key for key, (event_id, _) in self.opened.items() if event_id not in self.posted
        )

    @property
    def lost(self) -> frozenset[str]:
        """The tags of requests that are lost, for a reason, and told."""
        excused = self.lacking & self.told & self.excused
        return frozenset(self.opened[key][1] for key in excused)

    @property
    def unopened(self) -> frozenset[Key]:
        """What is told, and no process knows: it ended before it learned the number."""
        return self.told - self.opened.keys()

    def problems(self) -> Iterator[str]:
        """Yield where what is told is not what the ledger lacks."""
        lacking, told = self.lacking, self.told & self.opened.keys()
        yield from self._named("is missing, and not told", lacking - told)
        yield from self._named("is told, and posted", told - lacking)
        yield from self._named("is missing, though a copy was left", lacking - self.excused)
        yield from self._named("is noted as posted, and is not", lacking & self.noted)

    def _named(self, what: str, keys: Iterable[Key]) -> Iterator[str]:
        for key in sorted(keys):
            yield f"{self.opened[key][1]}: request {key[1]} of {key[0]} {what}"


#: Of a test that does not look at numbers.
NO_NUMBERS = Numbers()


def read_numbers(root: Path, redis: "Redis", engine: Engine, undone: Iterable[str]) -> Numbers:
    """Return the numbers as they are now.

    `undone`: the events that the ledger had before an older backup was restored.
    Raises: StreamUnavailable, SQLAlchemyError.
    """
    lines = (json.loads(line) for line in _lines(root / OPENED))
    opened = {(it["process"], it["number"]): (it["event_id"], it["tag"]) for it in lines}
    gone = set(undone)
    excused = {key for key, (event_id, _) in opened.items() if event_id in gone}
    search = Processes(redis).search()
    with engine.connect() as connection:
        posted = frozenset(connection.scalars(select(entries.c.event_id)))
    rows = read_processes(engine)
    return Numbers(
        opened,
        posted,
        frozenset(_keys_of(search.missing if search is not None else ())),
        frozenset(excused | set(_uncopied(root))),
        frozenset(
            (row.process, n) for row in rows for it in row.posted for n in _from(it.first, it.last)
        ),
    )


def _keys_of(missing: Iterable[Missing]) -> Iterator[Key]:
    for gap in missing:
        for number in _from(gap.first, gap.last):
            yield gap.process, number


def _from(first: int, last: int) -> range:
    return range(first, last + 1)


def _uncopied(root: Path) -> Iterator[Key]:
    """Yield the requests whose copies were refused by a full disk, or removed with their folder."""
    removed = [path for folder in root.glob("removed*") for path in folder.iterdir()]
    for path in [root / UNKEPT, *removed]:
        for line in _lines(path):
            for kind in KINDS:
                payload = line.removeprefix(b'{"%s":' % kind.encode()).removesuffix(b"}")
                if (it := numbered(payload)) is not None and it.key is not None:
                    yield it.key


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines() if path.exists() else []
