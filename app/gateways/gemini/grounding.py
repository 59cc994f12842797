"""Google Search: what it costs, and the sources of an answer as the contract's annotations."""

from collections.abc import Iterator, Mapping
from typing import Any

from app.gateways.decoding.parsing import plain_mapping, whole


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
    raw = text.encode("utf-8", "surrogatepass")
    for support in map(plain_mapping, _list(metadata.get("groundingSupports"))):
        span = _span(plain_mapping(support.get("segment")), raw)
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


def _span(segment: Mapping[str, Any], raw: bytes) -> tuple[int, int] | None:
    start, end = whole(segment.get("startIndex", 0)), whole(segment.get("endIndex"))
    text = segment.get("text")
    said = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else b""
    at = _nearest(said, raw, start or 0) if said else None
    if at is not None:
        start, end = at, at + len(said)
    elif segment.get("partIndex"):
        return None
    if start is None or end is None or not start <= end <= len(raw):
        return None
    return _characters(raw[:start]), _characters(raw[:end])


def _nearest(said: bytes, raw: bytes, start: int) -> int | None:
    """Return where `said` is in the answer, next to `start`; None if nowhere."""
    if raw.startswith(said, start):
        return start
    found = [at for at in (raw.rfind(said, 0, start + len(said)), raw.find(said, start)) if at >= 0]
    return min(found, key=lambda at: abs(at - start), default=None)


def _characters(raw: bytes) -> int:
    return len(raw.decode("utf-8", "ignore"))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
