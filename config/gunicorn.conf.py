"""The web process. Patching comes first: what is imported before it would block every stream."""

from gevent import monkey

monkey.patch_all()

import gc  # noqa: E402
import os  # noqa: E402
import resource  # noqa: E402
from typing import Any  # noqa: E402

from gevent.hub import Hub  # noqa: E402

bind = [f"0.0.0.0:{os.environ.get('PORT', '8000')}"]
workers = int(os.environ.get("WEB_CONCURRENCY", "1"))
worker_class = "app.server.worker.WebWorker"

# A greenlet per connection, most of which wait: open streams and clients' idle pools. Each stream
# holds two descriptors, the caller's and the vendor's, so the soft limit is raised with it; where
# the hard one is lower, connections are fewer: without descriptors none could be taken at all.
worker_connections = 4000
_soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
_wanted = 3 * worker_connections
_limit = _wanted if _hard == resource.RLIM_INFINITY else min(_wanted, _hard)
if _soft != resource.RLIM_INFINITY and _soft < _limit:
    resource.setrlimit(resource.RLIMIT_NOFILE, (_limit, _hard))
worker_connections = min(worker_connections, _limit // 3)

# No header of a caller's, nor of a proxy's, says where a path begins, who calls, or over what.
forwarder_headers = ""
secure_scheme_headers: dict[str, str] = {}
forwarded_allow_ips = ""

# Host names are looked up in threads, each of which a name server that hangs may keep for half a
# minute. gevent has ten; these are made when they are needed, and end when they are not.
Hub.threadpool_size = 100

# Longer than the idle time of clients' pools and of load balancers (60 s), so that it is never us
# who close a connection on which a request is on its way.
keepalive = 75

# `timeout` ends a worker whose loop no longer turns; deadlines of requests are the gateway's own.
timeout = 60

# At a SIGTERM, requests under way may go on for the grace time; in the eight seconds after it the
# rest are cut and recorded. Platforms kill after 30 s: keep the sum below what yours allows.
graceful_timeout = int(os.environ.get("TOLLGATE_GRACE_S", "20")) + 8

# No access log: a header or a query may hold a key. Errors go to stderr, where platforms read them.
accesslog = None
errorlog = "-"

# A usage query may name many models; bodies are limited by the application, which explains itself.
limit_request_line = 8190

# A heartbeat file on a disk can stall; memory does not. No control socket: it would write to HOME.
# Without either it is TMPDIR's; `--worker-tmp-dir` in GUNICORN_CMD_ARGS names another place.
_memory = "/dev/shm"  # noqa: S108
worker_tmp_dir = _memory if os.access(_memory, os.W_OK | os.X_OK) else None
control_socket_disable = True


def on_starting(server: Any) -> None:
    """Give the log its form, and the workers what they share: a place for metrics, a tokenizer.

    The place is in memory, empty, and this master's.
    """
    # Here, as it is the master's own; its workers load theirs.
    from app.observability.logs import formatter  # noqa: PLC0415
    from app.observability.metrics import directory  # noqa: PLC0415
    from app.usage.estimate import tokenizer  # noqa: PLC0415

    for handler in server.log.error_log.handlers:
        handler.setFormatter(formatter(os.environ.get("TOLLGATE_LOG_FORMAT")))
    tokenizer()
    os.environ[directory.VARIABLE] = directory.make(server.cfg.worker_tmp_dir)


def post_worker_init(worker: Any) -> None:  # noqa: ARG001
    """Have the garbage collector pass over what a worker is made of.

    It would look through all of it, for tens of milliseconds, in which no stream moves. What a
    request leaves behind is mostly freed by reference counts, and needs no look every 700 objects.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)


def child_exit(server: Any, worker: Any) -> None:  # noqa: ARG001
    """Forget what a dead worker had open; what it counted stays."""
    from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415

    mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(server: Any) -> None:  # noqa: ARG001
    """Leave nothing behind."""
    from app.observability.metrics import directory  # noqa: PLC0415

    directory.remove()
