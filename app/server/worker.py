"""The worker of the web process: gunicorn's gevent worker, which leaves in order.

Asked to leave, it stops accepting, lets the requests under way go on for the grace time, has the
application cut the rest, and has everything recorded. Loaded by gunicorn alone.
"""

import errno
import os
import socket
import ssl
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import gevent
from gevent.pool import Pool
from gevent.server import StreamServer
from gunicorn.http import wsgi
from gunicorn.http.errors import InvalidResponseHeader, InvalidResponseHeaderName, ParseException
from gunicorn.sock import ssl_context
from gunicorn.workers.base_async import AsyncWorker
from gunicorn.workers.ggevent import GeventWorker

from app.server.connection import Connection, Connections, refuse
from app.server.response import OnePacketResponse

#: The last seconds of gunicorn's graceful_timeout, after which the arbiter kills: callers are told
#: that they are cut, and what they used is recorded. CUT_S for those that read what they are sent.
SETTLING_S = 8.0
CUT_S = 4.0
KILL_S = 2.0

#: How often the worker looks whether it is to leave, in seconds.
TICK_S = 0.1

#: The most connections that are accepted in one round of the loop.
MOST_ACCEPTED = 8

#: What the system holds of what a caller has not read yet, in bytes (Linux doubles it).
SEND_BUFFER_BYTES = 128 * 1024

#: The caller's end of a connection; an error without a number is a deadline.
GONE = (None, errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN, errno.ESHUTDOWN)

# Its worker asks for no class; this is where it looks for one.
wsgi.Response = OnePacketResponse


class WebWorker(GeventWorker):  # type: ignore[misc]
    """One web process."""

    alive: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._grace_s = max(0.0, self.cfg.graceful_timeout - SETTLING_S)
        self._pool = Pool(self.worker_connections)
        self._connections = Connections(self.worker_connections)
        self._tls = ssl_context(self.cfg) if self.cfg.is_ssl else None

    def run(self) -> None:
        """Serve until told to leave; return when every request has ended and is recorded."""
        servers = [self._serve(listener) for listener in self.sockets]
        services = self._services()
        if services is not None:
            gevent.spawn(services.alarms.check)  # its log lines are for whoever deploys
        try:
            while self.alive:
                self.notify()
                self._connections.cut_deaf()
                gevent.sleep(TICK_S)
            for server in servers:
                server.close()
            self._finish()
        finally:
            if services is not None:
                services.recorder.close()

    def notify(self) -> None:
        """Give the arbiter a sign of life; without an arbiter, leave."""
        self.tmp.notify()
        if self.alive and self.ppid != os.getppid():
            self.log.warning("The arbiter is gone; leaving")
            self.alive = False

    def handle_quit(self, *_: object) -> None:
        """Leave without delay (SIGINT, SIGQUIT): requests are cut, and recorded."""
        self._grace_s = 0.0
        self.alive = False

    def handle(self, name: Any, client: socket.socket, addr: Any) -> None:
        """Serve one connection; `name` is the address that it came to."""
        connection = Connection(self.cfg, client, addr, self._tls)
        self._connections.make_room()
        try:
            while (request := connection.next_request(self._connections)) is not None:
                self.handle_request(name, request, connection.sock, addr)
        except (StopIteration, gevent.GreenletExit):
            pass  # by our will
        except OSError as exc:
            if exc.errno not in GONE and not isinstance(exc, ssl.SSLError):
                self.log.exception("A connection failed")
        except Exception as exc:  # noqa: BLE001 - the last to see it; it tells, and ends
            self.handle_error(connection.request, connection.sock, addr, exc)
        finally:
            self._connections.close(connection)

    def handle_request(self, *args: Any) -> Any:
        """Answer one request; when its greenlet is killed, the connection ends with it."""
        try:
            # Not GeventWorker's, which would wait for another request on the broken connection.
            return AsyncWorker.handle_request(self, *args)
        except gevent.GreenletExit:
            raise StopIteration from None

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        """Answer what is no HTTP. The log says what kind of thing it was, and not what was in it:
        a broken header may hold a key.
        """
        ours = isinstance(exc, InvalidResponseHeader | InvalidResponseHeaderName)
        if ours or not isinstance(exc, ParseException):
            super().handle_error(req, client, addr, exc)
            return
        self.log.warning("A request was no HTTP: %s", type(exc).__name__)
        refuse(client, exc)

    def _serve(self, listener: Any) -> StreamServer:
        listener.setblocking(1)
        # Of each connection that it accepts. The system would let it grow to megabytes, and a
        # vendor write into them for a caller that does not read.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        server = StreamServer(
            listener, handle=partial(self.handle, listener.getsockname()), spawn=self._pool
        )
        # Of several workers each gets its share. One alone takes no more at once than it serves in
        # a few milliseconds: what is under way would wait behind all that has been accepted.
        server.max_accept = 1 if self.cfg.workers > 1 else MOST_ACCEPTED
        server.start()
        return server

    def _finish(self) -> None:
        """End what is under way, as gently as the time allows."""

        def is_idle() -> bool:
            return not self._pool

        self._wait(is_idle, lambda: self._grace_s)
        services = self._services()
        if services is not None:  # also when idle: what callers left behind may still be read on
            services.completions.cut()
        if is_idle():
            return
        self.log.warning("%s connections are cut", len(self._pool))
        self._wait(is_idle, lambda: CUT_S)
        self._pool.kill(block=False)  # callers that read nothing; each one's end records it
        self._wait(is_idle, lambda: KILL_S)

    def _wait(self, condition: Callable[[], bool], limit_s: Callable[[], float]) -> None:
        """Wait until `condition` holds or `limit_s`, which may shrink meanwhile, is over."""
        started_s = time.monotonic()
        while not condition() and time.monotonic() - started_s < limit_s():
            self.notify()
            self._connections.close_idle()
            gevent.sleep(TICK_S)

    def _services(self) -> Any:
        """Return what Tollgate's application works with; the sandbox vendor has no such thing."""
        application = getattr(self, "wsgi", None)
        return getattr(application, "extensions", {}).get("tollgate")
