"""The web pages that a reply is grounded on, as the contract's annotations. No I/O.

A citation belongs to the text of its own block, or to the text before it: Nova's come in a block
after the text. Citations of documents have no URL, which an annotation needs: they are left out.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from app.gateways.decoding.parsing import plain_mapping


class Citations:
    """Notes the spans of a reply's blocks and what they cite, whole or as they stream."""

    def __init__(self) -> None:
        self._length = 0
        self._spans: dict[int, tuple[int, int]] = {}
        self._last: int | None = None  # the block whose text came last
        self._found: list[tuple[int, int | None, dict[str, str]]] = []

    def text(self, index: int, text: str) -> str:
        """Note a piece of a block's text, and return it."""
        if text:
            begin = self._spans.get(index, (self._length, 0))[0]
            self._length += len(text)
            self._spans[index] = begin, self._length
            self._last = index
        return text

    def cite(self, index: int, citations: Iterable[Any]) -> None:
        """Note a block's citations."""
        for citation in map(plain_mapping, citations):
            if (page := _page(citation)) is not None:
                self._found.append((index, self._last, page))

    def annotations(self) -> list[dict[str, Any]]:
        """Return the annotations of the whole text, in their order."""
        listed = []
        for index, before, page in self._found:
            span = self._spans.get(index)
            if span is None and before is not None:
                span = self._spans[before]
            if span is not None:
                cited = {"start_index": span[0], "end_index": span[1], **page}
                listed.append({"type": "url_citation", "url_citation": cited})
        return listed


def _page(citation: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the title and URL of the page that a citation names; None if it names none."""
    web = plain_mapping(plain_mapping(citation.get("location")).get("web"))
    url, titles = web.get("url"), (citation.get("title"), web.get("domain"))
    if not isinstance(url, str) or not url:
        return None
    title = next((it for it in titles if isinstance(it, str) and it), "")
    return {"title": title, "url": url}
