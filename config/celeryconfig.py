"""Celery's settings, read by `workers.celery_app`; the broker's address comes from REDIS_URL."""

# Beat asks for a drain every second; its scheduler sees to it that they do not pile up behind a
# slow database. None expires: where beat's clock is behind the worker's, none would ever be run.
beat_schedule = {
    "drain": {
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
# In memory: both entries are due at once after a restart anyway, and a file would need a place.
beat_scheduler = "workers.celery_app:BoundedScheduler"

timezone = "UTC"
enable_utc = True

# Results are in the ledger.
task_ignore_result = True
# A task carries nothing: what a dead worker had begun is still in the stream, and the next drain
# finds it. So a task is acknowledged when it starts, and never delivered twice.
task_acks_late = False
# Cancels tasks that are acknowledged late, so none; unset, each lost connection logs a warning.
worker_cancel_long_running_tasks_on_connection_loss = True
worker_prefetch_multiplier = 1
# A drain ends after some ten seconds. One that hangs is killed, at no loss, and replaced.
task_time_limit = 120

# Two processes: one drains, at most (`workers.tasks`), so that a slow database does not hold up the
# other tasks; and 512 MB are enough for both. More drains at once are more workers.
worker_concurrency = 2
worker_max_memory_per_child = 200_000  # KiB; a process over it is replaced after its task

# The broker shares a Redis with the keys `usage:*`.
task_default_queue = "drain"
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
# Also when Redis refuses: full, or read-only for a moment. Else the worker would end.
broker_channel_error_retry = True
broker_connection_max_retries = None  # for ever: the platform restarts what is really broken

# The process' own logging stays as the platform set it up, if it did.
worker_hijack_root_logger = False
worker_redirect_stdouts = False
worker_log_format = "%(asctime)s %(levelname)s %(name)s: %(message)s"
worker_task_log_format = worker_log_format
