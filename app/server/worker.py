"""The worker of the web process: gunicorn's gevent worker with a graceful shutdown.

On SIGTERM it stops accepting connections. Requests in flight get the grace time; then the
application aborts the rest, and their usage is recorded before the process exits.
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

from app.server.connection import Connection, Connections
from app.server.rejection import reject
from app.server.response import OnePacketResponse

#: The last seconds of gunicorn's graceful_timeout, after which the arbiter kills the worker. In
#: them, aborted requests get an error and are recorded. Clients that read have ABORT_S for it;
#: the others are disconnected, and have KILL_S until they are recorded.
ABORTING_S = 8.0
ABORT_S = 4.0
KILL_S = 2.0

#: How often the worker checks whether to shut down, in seconds.
TICK_S = 0.1

#: The most connections that are accepted in one round of the event loop.
MOST_ACCEPTED = 8

#: The system's send buffer for output that a client has not read, in bytes (Linux doubles it).
SEND_BUFFER_BYTES = 128 * 1024

#: Errors of a client that has disconnected; an error without a number is a timeout.
DISCONNECTED = (None, errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN, errno.ESHUTDOWN)

# gunicorn's worker has no setting for the class of a response; it looks the class up here.
wsgi.Response = OnePacketResponse


class WebWorker(GeventWorker):  # type: ignore[misc]
    """One web process."""

    alive: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._grace_s = max(0.0, self.cfg.graceful_timeout - ABORTING_S)
        self._pool = Pool(self.worker_connections)
        self._connections = Connections(self.worker_connections)
        self._tls = ssl_context(self.cfg) if self.cfg.is_ssl else None

    def run(self) -> None:
        """Serve until told to shut down; return when every request has ended and is recorded."""
        servers = [self._serve(listener) for listener in self.sockets]
        services = self._services()
        if services is not None:
            gevent.spawn(services.alarms.check)  # logs what needs attention at a deployment
        try:
            while self.alive:
                self.notify()
                self._connections.disconnect_stalled()
                gevent.sleep(TICK_S)
            for server in servers:
                server.close()
            self._finish()
        finally:
            if services is not None:
                services.close()

    def notify(self) -> None:
        """Send the arbiter a heartbeat; shut down if there is no arbiter."""
        self.tmp.notify()
        if self.alive and self.ppid != os.getppid():
            self.log.warning("The arbiter has exited; shutting down")
            self.alive = False

    def handle_quit(self, *_: object) -> None:
        """Shut down without grace time (SIGINT, SIGQUIT): requests are aborted and recorded."""
        self._grace_s = 0.0
        self.alive = False

    def handle(self, name: Any, client: socket.socket, addr: Any) -> None:
        """Serve one connection; `name` is the address that it was accepted on."""
        connection = Connection(self.cfg, client, addr, self._tls)
        self._connections.make_room()
        try:
            while (request := connection.next_request(self._connections)) is not None:
                self.handle_request(name, request, connection.sock, addr)
            self._count_rejection(connection.rejection)
        except (StopIteration, gevent.GreenletExit):
            pass  # ended by this process
        except OSError as exc:
            if exc.errno not in DISCONNECTED and not isinstance(exc, ssl.SSLError):
                self.log.exception("A connection failed")
        except Exception as exc:  # noqa: BLE001 - the last handler: it logs and closes
            self.handle_error(connection.request, connection.sock, addr, exc)
        finally:
            self._connections.close(connection)

    def handle_request(self, *args: Any) -> Any:
        """Serve one request; if its greenlet is killed, the connection ends, too."""
        try:
            # GeventWorker's method would wait for another request on the broken connection.
            return AsyncWorker.handle_request(self, *args)
        except gevent.GreenletExit:
            raise StopIteration from None

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        """Respond to input that is not valid HTTP.

        The log names only the kind of error: a malformed header may contain a key.
        """
        ours = isinstance(exc, InvalidResponseHeader | InvalidResponseHeaderName)
        if ours or not isinstance(exc, ParseException):
            super().handle_error(req, client, addr, exc)
            return
        self.log.warning("A request was not valid HTTP: %s", type(exc).__name__)
        self._count_rejection(reject(client, exc))

    def _count_rejection(self, code: str | None) -> None:
        """Count input that got an error before it reached the application."""
        services = self._services()
        if code is not None and services is not None:
            services.refusals.count(code)

    def _serve(self, listener: Any) -> StreamServer:
        listener.setblocking(1)
        # Accepted connections inherit it. The system's default grows to megabytes, which a vendor
        # would fill for a client that does not read.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        server = StreamServer(
            listener, handle=partial(self.handle, listener.getsockname()), spawn=self._pool
        )
        # Several workers share the connections evenly. A single worker accepts no more at once than
        # it serves in a few milliseconds, or requests in flight would wait behind all of them.
        server.max_accept = 1 if self.cfg.workers > 1 else MOST_ACCEPTED
        server.start()
        return server

    def _finish(self) -> None:
        """End the requests in flight, as gently as the time allows."""

        def is_idle() -> bool:
            return not self._pool

        self._wait(is_idle, lambda: self._grace_s)
        services = self._services()
        if services is not None:  # even if idle: calls of disconnected clients may still be read
            services.completions.cancel_all()
        if is_idle():
            return
        self.log.warning("Aborting %s connections", len(self._pool))
        self._wait(is_idle, lambda: ABORT_S)
        self._pool.kill(block=False)  # clients that do not read; each greenlet's end records it
        self._wait(is_idle, lambda: KILL_S)

    def _wait(self, condition: Callable[[], bool], limit_s: Callable[[], float]) -> None:
        """Wait until `condition` holds or `limit_s`, which may shrink, is over."""
        started_s = time.monotonic()
        while not condition() and time.monotonic() - started_s < limit_s():
            self.notify()
            self._connections.close_idle()
            gevent.sleep(TICK_S)

    def _services(self) -> Any:
        """Return the services of Tollgate's application; None for any other WSGI application."""
        application = getattr(self, "wsgi", None)
        return getattr(application, "extensions", {}).get("tollgate")
