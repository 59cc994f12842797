"""Ids of tool calls for vendors that restrict them: others' ids are mapped, always in one way."""

import re
from collections import Counter
from hashlib import sha256

#: Characters of the digest in a mapped id.
DIGEST_LENGTH = 16

_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]", re.ASCII)


def legal_id(call_id: str, legal: re.Pattern[str], limit: int) -> str:
    """Return an id if it is legal and has at most `limit` characters, otherwise one made from it.

    A made id has letters, digits, `_` and `-`, and ends in a digest, so that different ids stay
    different. Below 24 characters, it is the digest alone: letters and digits.
    """
    if len(call_id) <= limit and legal.fullmatch(call_id):
        return call_id
    digest = sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()
    if limit < DIGEST_LENGTH + 8:
        return digest[:limit]
    start = _ILLEGAL.sub("_", call_id[: limit - DIGEST_LENGTH - 1])
    return f"{start}_{digest[:DIGEST_LENGTH]}"


class CallIds:
    """The ids of one conversation's calls, each once: some vendors give out one id every turn."""

    def __init__(self, legal: re.Pattern[str], limit: int) -> None:
        self._legal, self._limit = legal, limit
        self._used: set[str] = set()
        self._last: dict[str, str] = {}
        self._repeats: Counter[str] = Counter()

    def new(self, call_id: str) -> str:
        """Return the id to send for a call."""
        made = legal_id(call_id, self._legal, self._limit)
        while made in self._used:  # from the last repeat on: there may be thousands
            self._repeats[call_id] += 1
            made = legal_id(f"{call_id}:{self._repeats[call_id]}", _NEVER, self._limit)
        self._used.add(made)
        self._last[call_id] = made
        return made

    def of(self, call_id: str) -> str:
        """Return the id that was sent for the last call with this one."""
        return self._last[call_id]


#: Matches nothing: the id is made.
_NEVER = re.compile(r"(?!)")
