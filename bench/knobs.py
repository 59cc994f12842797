"""The shape of the bench vendor's response, given in the model's name, which gateways pass on.

whole           one response, at once
paced-40x50     a stream of 40 chunks, one every 50 ms
flat-2000       a stream of 2,000 chunks, as fast as the reader takes them
bulk-600x10x50  a stream of 600 bursts, one every 10 ms, of 50 chunks with 1 KiB of text each
"""

import re
from dataclasses import dataclass

WHOLE = "whole"

#: Chunks per write of a flat stream, as a fast vendor's kernel would combine them.
FLAT_CHUNKS_A_WRITE = 16
BULK_TEXT_BYTES = 1024

_PACED = re.compile(r"paced-(\d+)x(\d+)")
_FLAT = re.compile(r"flat-(\d+)")
_BULK = re.compile(r"bulk-(\d+)x(\d+)x(\d+)")


class UnknownModel(Exception):
    """The bench vendor has no model of this name."""


@dataclass(frozen=True, slots=True)
class StreamShape:
    """A stream of `chunks`, `chunks_a_write` every `interval_ms` (0: as fast as possible).

    Without chunks, the response is not a stream.
    """

    chunks: int = 0
    interval_ms: int = 0
    chunks_a_write: int = 1
    padding_bytes: int = 0


def parse_model(model: str) -> StreamShape:
    """Return the shape that `model` names.

    Raises: UnknownModel.
    """
    if model == WHOLE:
        return StreamShape()
    if found := _PACED.fullmatch(model):
        return StreamShape(int(found[1]), int(found[2]))
    if found := _FLAT.fullmatch(model):
        return StreamShape(int(found[1]), 0, FLAT_CHUNKS_A_WRITE)
    if found := _BULK.fullmatch(model):
        bursts, interval_ms, at_once = map(int, found.groups())
        return StreamShape(bursts * at_once, interval_ms, at_once, BULK_TEXT_BYTES)
    raise UnknownModel(model)
