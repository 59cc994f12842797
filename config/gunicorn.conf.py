"""gunicorn's settings. gevent patches first: modules imported earlier would block all streams."""

from gevent import monkey

monkey.patch_all()

import gc  # noqa: E402
import os  # noqa: E402
import resource  # noqa: E402
import sys  # noqa: E402
from typing import Any  # noqa: E402

from gevent.hub import Hub  # noqa: E402
from gunicorn.glogging import Logger  # noqa: E402

from app.observability.logs import formatter  # noqa: E402
from app.startup.server_settings import read_server_settings, temporary_directory  # noqa: E402

# An invalid setting has its default here; `on_starting` rejects it.
_settings, _ = read_server_settings()

bind = [_settings.address]
workers = _settings.processes
worker_class = "app.server.worker.WebWorker"

# One greenlet per connection; most of them wait: open streams, and clients' idle connections. A
# stream needs two descriptors, the client's and the vendor's, so the soft limit is raised. If the
# hard limit is lower, fewer connections are accepted.
worker_connections = 4000
_soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
_wanted = 3 * worker_connections
_limit = _wanted if _hard == resource.RLIM_INFINITY else min(_wanted, _hard)
if _soft != resource.RLIM_INFINITY and _soft < _limit:
    resource.setrlimit(resource.RLIMIT_NOFILE, (_limit, _hard))
worker_connections = min(worker_connections, _limit // 3)

# No header sets the path, the client's address or the scheme, not even a proxy's.
forwarder_headers = ""
secure_scheme_headers: dict[str, str] = {}
forwarded_allow_ips = ""

# Host names are resolved in threads. A name server that hangs blocks a thread for half a minute.
# gevent's default is ten; threads are started on demand, and end when they are idle.
Hub.threadpool_size = 100

# Longer than the idle time of clients' pools and of load balancers (60 s), so that Tollgate never
# closes a connection on which a request is in flight.
keepalive = 75

# `timeout` ends a worker whose event loop is stuck. The gateway has its own request deadlines.
timeout = 60

# After SIGTERM, requests in flight get the grace time. In the following eight seconds, the rest are
# aborted and recorded. Platforms kill after 30 s: keep the sum below your platform's limit.
graceful_timeout = _settings.grace_s + 8


class logger_class(Logger):  # type: ignore[misc]  # the name of the setting
    """gunicorn's logger, in the form of all other lines, from the first line on."""

    def setup(self, cfg: Any) -> None:
        """Configure the log."""
        super().setup(cfg)
        for handler in self.error_log.handlers:
            handler.setFormatter(formatter(os.environ.get("TOLLGATE_LOG_FORMAT")))


# No access log: a header or a query may contain a key. Errors go to stderr, for the platform.
accesslog = None
errorlog = "-"

# A usage query may name many models. The application limits bodies, with its own error message.
limit_request_line = 8190

# Heartbeat files are in memory, because a disk can stall. If /dev/shm cannot be used, they are in
# TMPDIR; `--worker-tmp-dir` in GUNICORN_CMD_ARGS overrides it. No control socket: it would write to
# HOME.
worker_tmp_dir = temporary_directory()
control_socket_disable = True


def on_starting(server: Any) -> None:
    """Check the configuration, once for all workers, and create what they share.

    That is a tokenizer, and the metrics directory, which is in memory, empty, and belongs to this
    master.
    """
    # Imported here: the master's copies. Workers import their own.
    from app.observability.metrics import directory  # noqa: PLC0415
    from app.startup.child import passes_in_child  # noqa: PLC0415
    from app.usage.metering.estimate import tokenizer  # noqa: PLC0415

    serves_tollgate = server.app.app_uri.startswith("app.wsgi")  # and not the sandbox vendor
    if serves_tollgate and not passes_in_child(lambda: _check(server)):
        sys.exit(1)
    tokenizer()
    os.environ[directory.VARIABLE] = directory.make(server.cfg.worker_tmp_dir)


def _check(server: Any) -> None:
    """Exit if web processes cannot start. This runs in a process of its own."""
    from app.startup.web import check_web_start  # noqa: PLC0415

    # Inherited sockets are bound already: by `fd://`, systemd, or the master before an upgrade.
    inherited = {"GUNICORN_FD", "LISTEN_FDS"} & os.environ.keys() or server.cfg.reuse_port
    addresses = [] if inherited else [it for it in server.cfg.address if isinstance(it, tuple)]
    check_web_start(addresses, server.cfg.worker_tmp_dir)


def post_worker_init(worker: Any) -> None:  # noqa: ARG001
    """Exclude the application's objects from garbage collection.

    Collecting them takes tens of milliseconds, in which no stream moves. Most objects of a request
    are freed by reference counting, so a collection every 700 objects is too frequent.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)


def child_exit(server: Any, worker: Any) -> None:  # noqa: ARG001
    """Drop the gauges of an exited worker; its counters stay."""
    from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415

    mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(server: Any) -> None:  # noqa: ARG001
    """Remove the metrics directory."""
    from app.observability.metrics import directory  # noqa: PLC0415

    directory.remove()
