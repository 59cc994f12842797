"""What operators see: metrics, logs, the request log, the backlog and alarms.

Does not change what it observes. Read `metrics.metrics` first, then `request_log`.
"""
