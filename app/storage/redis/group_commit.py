"""Group commit: scripts that wait for Redis at the same time go there in one round trip.

Whoever finds nobody at it runs its own at once, so that a lone request waits for nothing; those
that arrive meanwhile wait, and the first of them takes all that is there along. Each still gets
its own answer, or its own error.
"""

import functools
import hashlib
import os
import threading
from collections.abc import Sequence
from typing import Any

from redis import Redis
from redis.exceptions import NoScriptError, RedisError, ResponseError

from app.storage.redis.primary import NotPrimary

Argument = str | bytes | int | float


class _Waiting:
    """One script's call: done when `answer` or `error` is there; else its turn to lead."""

    __slots__ = ("answer", "command", "done", "error", "script", "turn")

    def __init__(self, script: str, command: tuple[Argument, ...]) -> None:
        self.script = script
        self.command = command
        self.turn = threading.Event()
        self.done = False
        self.answer: Any = None
        # Stands if the leader is killed in the middle: nobody is told that all went well.
        self.error: Exception | None = RedisError("the round trip was interrupted")


class GroupCommit:
    """Runs Lua scripts on one Redis, over a connection of its own."""

    def __init__(self, redis: "Redis") -> None:
        self._redis = redis
        self._lock = threading.Lock()
        self._queue: list[_Waiting] = []
        self._busy = False
        self._connection: Any = None

    def run(self, script: str, keys: Sequence[str], args: Sequence[Argument]) -> Any:
        """Run a script and return its answer.

        Raises: RedisError, OSError; when the round trip failed, in every call that was in it.
        """
        call = _Waiting(script, ("EVALSHA", _sha1(script), len(keys), *keys, *args))
        with self._lock:
            self._queue.append(call)
            leads, self._busy = not self._busy, True
        if not leads:
            try:
                call.turn.wait()
            except BaseException:  # the server kills this thread
                self._withdraw(call)
                raise
        if not call.done:
            self._lead()
        if call.error is not None:
            raise call.error
        return call.answer

    def _lead(self) -> None:
        """Run all that waits, oneself among it, and hand over to who came meanwhile."""
        with self._lock:
            batch, self._queue = self._queue, []
        try:
            self._execute(batch)
        finally:
            for call in batch:
                call.done = True
                call.turn.set()
            with self._lock:
                self._hand_over()

    def _hand_over(self) -> None:
        self._busy = bool(self._queue)
        if self._busy:
            self._queue[0].turn.set()

    def _withdraw(self, call: _Waiting) -> None:
        """Take back a call that nobody has taken along; its turn to lead is the next one's."""
        with self._lock:
            if call in self._queue:
                self._queue.remove(call)
                if call.turn.is_set():
                    self._hand_over()

    def _execute(self, batch: list[_Waiting]) -> None:
        try:
            self._answer(batch)
            self._teach(batch)
            refused = [call for call in batch if isinstance(call.error, NotPrimary)]
            if refused:  # nothing was done; the next use of the connection makes a new one
                self._answer(refused)
                self._teach(refused)
        except Exception as exc:  # noqa: BLE001 - each caller raises it
            for call in batch:
                if call.error is not None and not isinstance(call.error, ResponseError):
                    call.error = exc

    def _teach(self, batch: list[_Waiting]) -> None:
        """Run again the calls whose script is not known: a Redis that was restarted knows none."""
        missing = [call for call in batch if isinstance(call.error, NoScriptError)]
        if missing:
            for script in {call.script for call in missing}:
                self._redis.script_load(script)
            self._answer(missing)

    def _answer(self, batch: list[_Waiting]) -> None:
        # redis' own pipeline, and a connection from its pool, do this at three times the cost.
        connection = self._connected()
        try:
            packed = connection.pack_commands([call.command for call in batch])
            connection.send_packed_command(packed)
            for call in batch:
                try:
                    call.answer, call.error = connection.read_response(), None
                except ResponseError as exc:
                    call.error = exc
        except BaseException:
            connection.disconnect()  # an answer that nobody has read would be the next one's
            raise

    def _connected(self) -> Any:
        """Return the connection, which only who leads may use; opened anew where it has ended."""
        connection = self._connection
        if connection is None or connection.pid != os.getpid():  # another process' is not ours
            connection = self._connection = self._redis.connection_pool.make_connection()
        try:
            in_step = not connection.can_read(0)  # nothing is to come but its end
        except (RedisError, OSError):
            in_step = False
        if not in_step:
            connection.disconnect()
        return connection


@functools.cache
def _sha1(script: str) -> str:
    """Return the name that Redis knows a script by."""
    return hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()
