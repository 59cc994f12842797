"""Google Search: what it costs, and the sources of an answer as the contract's annotations."""

from collections.abc import Iterator, Mapping
from typing import Any

from app.gateways.decoding.parsing import plain_mapping, whole

#: How far apart the characters of an answer are counted beforehand, in bytes.
STEP_BYTES = 4096

#: How much of an answer is searched for the segments that are not where Google says, in bytes.
SEARCHED_BYTES = 2**26

_CONTINUING = bytes(range(0x80, 0xC0))


def searches(metadata: Mapping[str, Any], *, by_query: bool) -> int:
    """Return the searches that Google bills for a candidate's `groundingMetadata`.

    `by_query`: each query of its own; otherwise, an answer with sources from the web is one.
    """
    if by_query:
        queries = metadata.get("webSearchQueries")
        texts = queries if isinstance(queries, list) else []
        return len({query for query in texts if isinstance(query, str)})
    return int(any(_source(chunk) for chunk in _list(metadata.get("groundingChunks"))))


def annotations(metadata: Mapping[str, Any], text: str) -> list[dict[str, Any]]:
    """Return the citations of an answer's `text`, one for each source of a segment.

    Google counts bytes of UTF-8, the contract characters. Its counts were seen to drift by some
    bytes, and begin anew in each part: a segment is where its own text is, if it has one.
    """
    found = []
    chunks = _list(metadata.get("groundingChunks"))
    answer = _Answer(text)
    for support in map(plain_mapping, _list(metadata.get("groundingSupports"))):
        span = answer.span(plain_mapping(support.get("segment")))
        for source in _sources(support, chunks):
            if span is not None:
                citation = {"start_index": span[0], "end_index": span[1], **source}
                found.append({"type": "url_citation", "url_citation": citation})
    return found


def _sources(support: Mapping[str, Any], chunks: list[Any]) -> Iterator[dict[str, str]]:
    for index in _list(support.get("groundingChunkIndices")):
        at = whole(index)
        source = _source(chunks[at]) if at is not None and at < len(chunks) else None
        if source is not None:
            yield source


def _source(chunk: Any) -> dict[str, str] | None:
    web = plain_mapping(plain_mapping(chunk).get("web"))
    url, title = web.get("uri"), web.get("title")
    if not isinstance(url, str) or not url:
        return None
    return {"title": title if isinstance(title, str) else "", "url": url}


class _Answer:
    """An answer's text, in which segments are looked for: there may be thousands of them."""

    def __init__(self, text: str) -> None:
        self._raw = text.encode("utf-8", "surrogatepass")
        self._left = SEARCHED_BYTES
        #: How many characters are before each STEP_BYTES bytes.
        self._before = [0]
        for at in range(0, len(self._raw), STEP_BYTES):
            self._before.append(self._before[-1] + _begun(self._raw[at : at + STEP_BYTES]))

    def span(self, segment: Mapping[str, Any]) -> tuple[int, int] | None:
        """Return a segment's characters; None if it is not in the answer."""
        start, end = whole(segment.get("startIndex", 0)), whole(segment.get("endIndex"))
        text = segment.get("text")
        said = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else b""
        at = self._nearest(said, start or 0) if said else None
        if at is not None:
            start, end = at, at + len(said)
        elif segment.get("partIndex"):
            return None
        if start is None or end is None or not start <= end <= len(self._raw):
            return None
        return self._characters(start), self._characters(end)

    def _nearest(self, said: bytes, start: int) -> int | None:
        """Return where `said` is in the answer, next to `start`; None if nowhere."""
        raw = self._raw
        if raw.startswith(said, start):
            return start
        if self._left <= 0:  # then the counts of bytes stand
            return None
        self._left -= len(raw)
        around = raw.rfind(said, 0, start + len(said)), raw.find(said, start)
        found = [at for at in around if at >= 0]
        return min(found, key=lambda at: abs(at - start), default=None)

    def _characters(self, at: int) -> int:
        """Return how many whole characters are before a byte."""
        step = at // STEP_BYTES
        count = self._before[step] + _begun(self._raw[step * STEP_BYTES : at])
        is_inside = at < len(self._raw) and self._raw[at] & 0xC0 == 0x80
        return count - is_inside


def _begun(raw: bytes) -> int:
    """Return how many characters begin in these bytes of UTF-8."""
    return len(raw.translate(None, _CONTINUING))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
