"""Error statuses whose bodies may be broken."""

import gzip
import json
from collections.abc import Callable

from tests.contract.wild.deviations import ALL, Deviation
from tests.contract.wild.deviations.ends import LEAVE_S
from tests.contract.wild.draft import Draft
from tests.contract.wild.truth import Told
from tests.support.vendor import CUT

#: A vendor's status, and what the caller is told.
STATUSES = {
    400: 400,
    401: 502,
    402: 502,
    403: 502,
    404: 404,
    408: 504,
    413: 413,
    422: 400,
    429: 429,
    500: 502,
    502: 502,
    503: 503,
    504: 504,
    524: 504,
    529: 503,
}
#: The vendor had the request, and may have done all that it was asked.
BILLED = (504, 524)
LIMITED = (429, 503, 529)

BODY = json.dumps({"error": {"message": "It is so.", "type": "some_error"}}).encode()


def _refusal(spoil: Callable[[Draft], None]) -> Callable[[Draft], None]:
    def apply(draft: Draft) -> None:
        draft.status = draft.rng.choice(sorted(STATUSES))
        draft.events, draft.body, draft.streams = [], None, False
        draft.pieces, draft.framing = [BODY], "length"
        draft.headers = {"content-type": "application/json"}
        draft.truth.fail(STATUSES[draft.status])
        draft.truth.told = Told()
        draft.truth.free = draft.status not in BILLED
        if draft.status in LIMITED:
            draft.headers["retry-after"] = draft.truth.retry_after = str(draft.rng.randint(1, 99))
        spoil(draft)

    return apply


def _good(_: Draft) -> None:
    pass


def _cut_short(draft: Draft) -> None:
    draft.pieces = [BODY[: draft.rng.randrange(len(BODY))]]
    draft.headers["content-length"] = str(len(BODY))
    draft.framing = "close"


def _reset(draft: Draft) -> None:
    _cut_short(draft)
    draft.tail = [LEAVE_S, CUT]


def _no_last_chunk(draft: Draft) -> None:
    draft.pieces = [b"%x\r\n%s\r\n" % (len(BODY), BODY)]
    draft.headers["transfer-encoding"] = "chunked"
    draft.framing = "close"


def _empty(draft: Draft) -> None:
    draft.pieces = [b""]


def _page(draft: Draft) -> None:
    draft.pieces = [b"<html><h1>It is so.</h1></html>"]
    draft.headers["content-type"] = "text/html"


def _no_gzip(draft: Draft) -> None:
    draft.headers["content-encoding"] = "gzip"


def _half_gzip(draft: Draft) -> None:
    draft.pieces = [gzip.compress(BODY)[:-9]]
    draft.headers["content-encoding"] = "gzip"


def _unknown_coding(draft: Draft) -> None:
    draft.headers["content-encoding"] = draft.rng.choice(("br", "zstd", "x-unknown"))


def _event_stream(draft: Draft) -> None:
    draft.pieces = [b"event: error\ndata: " + BODY + b"\n\n"]
    draft.headers["content-type"] = "text/event-stream"


def _not_utf8(draft: Draft) -> None:
    draft.pieces = [b'{"error": {"message": "\xff\xfe\xf0"}}']


BODIES: dict[str, Callable[[Draft], None]] = {
    "a good body": _good,
    "a body cut short": _cut_short,
    "a body cut short by a reset": _reset,
    "no chunk of no length": _no_last_chunk,
    "no body": _empty,
    "a page": _page,
    "gzip that is none": _no_gzip,
    "half of gzip": _half_gzip,
    "an unknown coding": _unknown_coding,
    "an event stream": _event_stream,
    "bytes that are no UTF-8": _not_utf8,
}

REFUSALS: tuple[Deviation, ...] = tuple(
    Deviation(
        f"status: with {name}",
        "refusals",
        ALL,
        _refusal(spoil),
        "sent",
        shape="call",
        breaks=True,
        excludes=frozenset(
            {"texts", "counts", "finish", "indices", "errors", "frames", "labels", "cuts", "ends"}
        ),
    )
    for name, spoil in BODIES.items()
)
