"""Group commit: scripts that wait for Redis at the same time share one round trip.

If no round trip is in progress, a caller runs its script at once. Callers that arrive in the
meantime queue; the first of them then runs the whole queue in one round trip. Each caller gets its
own result or its own error. What the calls of one round trip want to be kept is kept in one step.
"""

import logging
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

import hiredis
from redis import Redis
from redis.exceptions import NoScriptError, RedisError, ResponseError

from app.storage.redis.primary import NotPrimary
from app.storage.redis.scripts import Argument, Script

log = logging.getLogger(__name__)

#: Arguments of a script; a function returns them as they are when the round trip begins.
Arguments = Sequence[Argument] | Callable[[], Sequence[Argument]]


class _Call:
    """One script call; until it is done, its turn may come.

    It is `answered` once Redis has run it. A call that is done without an answer has an `error`, or
    its leader was killed during the round trip.
    """

    __slots__ = ("answered", "args", "done", "error", "keep", "keys", "result", "script", "turn")

    def __init__(
        self,
        script: Script,
        keys: Sequence[str],
        args: Arguments,
        keep: Callable[[Any], object] | None,
    ) -> None:
        self.script = script
        self.keys = keys
        self.args = args
        self.keep = keep
        #: Set when its turn has come; None if the call leads at once, as most do.
        self.turn: threading.Event | None = None
        self.done = self.answered = False
        self.result: Any = None
        self.error: Exception | None = None

    def command(self) -> tuple[Argument, ...]:
        args = self.args() if callable(self.args) else self.args
        return ("EVALSHA", self.script.sha, len(self.keys), *self.keys, *args)

    def outcome(self) -> Any:
        """Return the result, or raise the error."""
        if self.error is not None:
            raise self.error
        if not self.answered:
            raise RedisError("the round trip was interrupted")
        return self.result


class GroupCommit:
    """Runs Lua scripts on one Redis, over one connection that nothing else uses."""

    def __init__(self, redis: "Redis") -> None:
        self._redis = redis
        self._lock = threading.Lock()
        self._queue: list[_Call] = []
        self._busy = False
        self._connection: Any = None
        #: Gets what the calls of one round trip want to be kept, as soon as Redis has it.
        self.keeper: Callable[[list[Any]], None] | None = None

    def run(
        self,
        script: Script,
        keys: Sequence[str],
        args: Arguments,
        keep: Callable[[Any], object] | None = None,
    ) -> Any:
        """Run a script and return its result.

        `keep` returns, from the result, what `keeper` gets; None if it gets nothing.
        Raises: RedisError, OSError; if the round trip fails, in every call that was in it.
        """
        call = _Call(script, keys, args, keep)
        with self._lock:
            self._queue.append(call)
            if self._busy:
                call.turn = threading.Event()
            self._busy = True
        if call.turn is not None:
            try:
                call.turn.wait()
            except BaseException:  # the server kills this thread
                self._withdraw(call)
                raise
        if not call.done:
            self._lead()
        return call.outcome()

    def close(self) -> None:
        """Close the connection, when no call is under way; a later call opens it again."""
        if self._connection is not None:
            self._connection.disconnect()

    def _lead(self) -> None:
        """Run the whole queue, including the leader's own call; then the next caller leads."""
        with self._lock:
            batch, self._queue = self._queue, []
        try:
            self._execute(batch)
            self._keep(batch)
        finally:
            for call in batch:
                call.done = True
                if call.turn is not None:
                    call.turn.set()
            with self._lock:
                self._hand_over()

    def _hand_over(self) -> None:
        self._busy = bool(self._queue)
        if self._busy and (turn := self._queue[0].turn) is not None:
            turn.set()

    def _withdraw(self, call: _Call) -> None:
        """Remove a call that is still queued; if it was to lead, the next one leads instead."""
        with self._lock:
            if call in self._queue:
                self._queue.remove(call)
                if call.turn is not None and call.turn.is_set():
                    self._hand_over()

    def _execute(self, batch: list[_Call]) -> None:
        try:
            self._round_trip(batch)
            self._load_missing(batch)
            rejected = [call for call in batch if isinstance(call.error, NotPrimary)]
            if rejected:  # Redis did nothing; the next use of the connection opens a new one
                self._round_trip(rejected)
                self._load_missing(rejected)
        except Exception as exc:  # noqa: BLE001 - each caller raises it
            for call in batch:
                if not call.answered and not isinstance(call.error, ResponseError):
                    call.error = exc

    def _keep(self, batch: list[_Call]) -> None:
        kept = [call.keep(call.result) for call in batch if call.keep and call.answered]
        if self.keeper is not None and (wanted := [it for it in kept if it is not None]):
            try:
                self.keeper(wanted)
            except Exception:  # Redis has it
                log.exception("%s events and open records were not kept", len(wanted))

    def _load_missing(self, batch: list[_Call]) -> None:
        """Load scripts that Redis does not know, as after a restart, and repeat their calls."""
        missing = [call for call in batch if isinstance(call.error, NoScriptError)]
        if missing:
            for source in {call.script.source for call in missing}:
                self._redis.script_load(source)
            self._round_trip(missing)

    def _round_trip(self, batch: list[_Call]) -> None:
        # redis-py's pipeline, on a connection from its pool, costs three times as much.
        connection = self._connected()
        try:
            # redis-py's packing copies the arguments twice before it calls this.
            packed = [hiredis.pack_command(call.command()) for call in batch]  # type: ignore[arg-type]
            connection.send_packed_command([b"".join(packed)])
            for call in batch:
                try:
                    call.result = connection.read_response()
                except ResponseError as exc:
                    call.error = exc
                else:
                    call.answered, call.error = True, None
        except BaseException:
            connection.disconnect()  # the next call would read a response that is still unread
            raise

    def _connected(self) -> Any:
        """Return the connection, which only the leader uses; opened again if it was closed."""
        connection = self._connection
        if connection is None or connection.pid != os.getpid():  # inherited from another process
            connection = self._connection = self._redis.connection_pool.make_connection()
        try:
            in_step = not connection.can_read(0)  # nothing may be readable but the end
        except (RedisError, OSError):
            in_step = False
        if not in_step:
            connection.disconnect()
        return connection
