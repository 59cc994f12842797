"""Celery's settings, read by `workers.celery_app`; the broker's address comes from REDIS_URL."""

# Beat sends `usage.post` every second; its scheduler keeps tasks from piling up behind a slow
# database. No task expires: if beat's clock were behind the worker's, none would ever run.
beat_schedule = {
    "post": {
        "task": "usage.post",
        "schedule": 1.0,
    },
    "reap": {
        "task": "usage.reap",
        "schedule": 10.0,
    },
    "alarms": {
        "task": "usage.alarms",
        "schedule": 60.0,
    },
    "forget-idle-consumers": {
        "task": "usage.forget_idle_consumers",
        "schedule": 3600.0,
    },
}
# In memory: after a restart every entry is due at once anyway, and a file would need a place.
beat_scheduler = "workers.celery_app:BoundedScheduler"

timezone = "UTC"
enable_utc = True

# Results are in the ledger.
task_ignore_result = True
# A task carries nothing: what a crashed worker had begun is still in the stream, and the next task
# finds it. So a task is acknowledged when it starts, and is never delivered twice.
task_acks_late = False
# Affects only late-acknowledged tasks, of which there are none. If it is unset, Celery warns on
# every lost connection.
worker_cancel_long_running_tasks_on_connection_loss = True
worker_prefetch_multiplier = 1
# Posting ends after some ten seconds. A task that hangs is killed, at no loss, and replaced.
task_time_limit = 120

# Two processes: at most one posts (`workers.tasks`), so that a slow database does not hold up the
# other tasks; and 512 MB are enough for both. To post more at once, run more workers.
worker_concurrency = 2
worker_max_memory_per_child = 200_000  # KiB; a process over it is replaced after its task

# The broker shares a Redis with the keys `usage:*`.
task_default_queue = "usage"
broker_transport_options = {
    "global_keyprefix": "celery:",
    "visibility_timeout": 3600,  # seconds; only a prefetched task waits unacknowledged
    "socket_connect_timeout": 5.0,
    "socket_timeout": 30.0,  # above the broker's own blocking read of 10 s
    "socket_keepalive": True,
    "health_check_interval": 10,
}
broker_connection_retry = True
broker_connection_retry_on_startup = True
# Also if Redis rejects commands, because it is full or read-only. Otherwise the worker would end.
broker_channel_error_retry = True
broker_connection_max_retries = None  # for ever: the platform restarts what is really broken

# Leaves the process's logging as the platform set it up, if it did.
worker_hijack_root_logger = False
worker_redirect_stdouts = False
worker_log_format = "%(asctime)s %(levelname)s %(name)s: %(message)s"
worker_task_log_format = worker_log_format
