"""A sample of each route: its request, its answer, and its stream, from `examples.json`.

The sandbox answers so: its model repeats the prompt, and costs nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

_FILE = Path(__file__).with_name("examples.json")


@dataclass(frozen=True, slots=True)
class Example:
    """A request and its answer.

    path    values of the path's parameters
    query   the query string
    body    the request's JSON, if it has one
    answer  the JSON of the answer
    stream  the JSON of each event of a streamed answer, before `event: done`
    """

    answer: Any
    path: Mapping[str, str] = field(default_factory=dict)
    query: str = ""
    body: Mapping[str, Any] | None = None
    stream: Sequence[Mapping[str, Any]] = ()

    def events(self) -> str:
        """Return the streamed answer as server-sent events."""
        frames = [f"data: {orjson.dumps(it).decode()}\n\n" for it in self.stream]
        return "".join([*frames, "event: done\ndata: [DONE]\n\n"])


#: Operation -> its example.
EXAMPLES: Mapping[str, Example] = {
    name: Example(**found) for name, found in orjson.loads(_FILE.read_bytes()).items()
}
