"""Celery's settings, read by `workers.celery_app`. REDIS_URL is the broker's address."""

# Beat sends a post task every second; its scheduler prevents a queue of them behind a slow
# database. Tasks do not expire: if beat's clock were behind the worker's, no task would ever run.
beat_schedule = {
    "post": {
        "task": "usage.post",
        "schedule": 1.0,
    },
    "reap": {
        "task": "usage.reap",
        "schedule": 10.0,
    },
    "numbers": {
        "task": "usage.check_numbers",
        "schedule": 5.0,
    },
    "alarms": {
        "task": "usage.alarms",
        "schedule": 60.0,
    },
    "refusals": {
        "task": "usage.post_refusals",
        "schedule": 5.0,
    },
    "latencies": {
        "task": "usage.compute_latencies",
        "schedule": 300.0,
    },
    "forget-idle-consumers": {
        "task": "usage.forget_idle_consumers",
        "schedule": 3600.0,
    },
    "create-partitions": {
        "task": "usage.create_partitions",
        "schedule": 3600.0,
    },
}
# In memory: after a restart, all entries are due at once anyway, and a file would need a path.
beat_scheduler = "workers.celery_app:BoundedScheduler"

timezone = "UTC"
enable_utc = True

# The results are in the ledger.
task_ignore_result = True
# A task has no arguments. If a worker crashes, its events are still in the stream, and the next
# post task claims them. So a task is acknowledged when it starts, and never delivered twice.
task_acks_late = False
# Affects only late-acknowledged tasks, of which there are none. If it is unset, Celery warns on
# every lost connection.
worker_cancel_long_running_tasks_on_connection_loss = True
worker_prefetch_multiplier = 1
# A post task ends after about ten seconds. If one hangs, its process is killed and replaced; no
# event is lost.
task_time_limit = 120

# Two processes. At most one of them posts (`workers.tasks`), so that a slow database does not block
# the other tasks. 512 MB are enough for both. To post more at once, run more workers.
worker_concurrency = 2
worker_max_memory_per_child = 200_000  # KiB; a larger process is replaced after its task

# The broker uses the same Redis as the keys `usage:*`.
task_default_queue = "usage"
broker_transport_options = {
    "global_keyprefix": "celery:",
    # Redis keeps no copy of a task until it is acknowledged. See also `workers.broker`.
    "ack_emulation": False,
    # A primary that hangs keeps its connections open, and a worker has several: it leaves one after
    # another, each after this time. The broker's blocking read takes 1 s at most.
    "socket_connect_timeout": 3.0,
    "socket_timeout": 3.0,
    "socket_keepalive": True,
    "health_check_interval": 2,
}
broker_connection_retry = True
broker_connection_retry_on_startup = True
# Retry even if Redis rejects a command because it is full or read-only. Otherwise the worker exits.
broker_channel_error_retry = True
broker_connection_max_retries = (
    None  # forever: the platform restarts a worker that is really broken
)

# `workers.celery_app` configures the log.
worker_redirect_stdouts = False
