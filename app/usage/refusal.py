"""Refusal: a kind of request that was refused before any vendor was called, and its text in Redis.

No I/O.
"""

from typing import NamedTuple

import orjson

#: The reason of refusals beyond the most that are told apart.
OTHER = "other"


class Refusal(NamedTuple):
    """What refused requests are counted by; the texts are empty if they are not known.

    `hour_s` is the start of the hour in Unix seconds, `reason` the error's stable code, for limits
    with the limit that was reached: `rate_limit_exceeded/key/requests_per_minute`.
    """

    hour_s: int
    account_id: str
    api_key_id: str
    endpoint: str
    reason: str

    @property
    def other(self) -> "Refusal":
        """What it is counted as if too many kinds are counted."""
        return Refusal(self.hour_s, "", "", self.endpoint, OTHER)

    def encode(self) -> bytes:
        """Return it as JSON."""
        return orjson.dumps(tuple(self))

    @classmethod
    def decode(cls, raw: bytes) -> "Refusal":
        """Return what `encode` wrote.

        Raises: ValueError if another program or a later version wrote it.
        """
        values = orjson.loads(raw)
        kinds = [type(it) for it in values] if isinstance(values, list) else []
        if kinds != [int, str, str, str, str]:
            raise ValueError("not a refusal of this version")
        return cls(*values)
