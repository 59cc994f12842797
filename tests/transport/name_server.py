"""A name server of the tests' own, in place of the system's."""

import socket
import threading
from collections import Counter
from typing import Any

HANGING = "hang.invalid"


class NameServer:
    """Answers for every host but one, for which it hangs until it is released."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.released = threading.Event()
        self.addresses: list[str] = ["127.0.0.1"]
        #: The address family of the last lookup.
        self.family: int | None = None

    def __call__(self, host: str, _port: Any, family: int = 0, *_: Any) -> list[Any]:
        self.asked[host] += 1
        self.family = family
        if host == HANGING:
            self.released.wait(30)
        if host == "unknown.invalid":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        kind = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
        return [(*kind, (address, 0)) for address in self.addresses]
