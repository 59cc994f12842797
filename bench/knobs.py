"""How the bench vendor is to answer, as a model's name: every gateway passes that through.

whole           one answer, at once
paced-40x50     a stream of 40 chunks, one every 50 ms
flat-2000       a stream of 2,000 chunks, as fast as the reader takes them
bulk-600x10x50  a stream of 600 bursts, one every 10 ms, of 50 chunks with 1 KiB of text each
"""

import re
from dataclasses import dataclass

WHOLE = "whole"

#: Chunks in one write of a flat stream, as a fast vendor's kernel would gather them.
FLAT_CHUNKS_A_WRITE = 16
BULK_TEXT_BYTES = 1024

_PACED = re.compile(r"paced-(\d+)x(\d+)")
_FLAT = re.compile(r"flat-(\d+)")
_BULK = re.compile(r"bulk-(\d+)x(\d+)x(\d+)")


class UnknownModel(Exception):
    """A model's name is none of this vendor's."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """One stream: `chunks` in all, `chunks_a_write` every `interval_ms` (0: as fast as possible).

    No chunks at all is an answer that is no stream.
    """

    chunks: int = 0
    interval_ms: int = 0
    chunks_a_write: int = 1
    padding_bytes: int = 0


def parse_model(model: str) -> Knobs:
    """Return what `model` asks for.

    Raises: UnknownModel.
    """
    if model == WHOLE:
        return Knobs()
    if found := _PACED.fullmatch(model):
        return Knobs(int(found[1]), int(found[2]))
    if found := _FLAT.fullmatch(model):
        return Knobs(int(found[1]), 0, FLAT_CHUNKS_A_WRITE)
    if found := _BULK.fullmatch(model):
        bursts, interval_ms, at_once = map(int, found.groups())
        return Knobs(bursts * at_once, interval_ms, at_once, BULK_TEXT_BYTES)
    raise UnknownModel(model)
