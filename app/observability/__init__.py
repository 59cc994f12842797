"""What operators see: metrics, logs, the request log, the backlog, alarms.

Changes nothing that it observes. Read `metrics` first.
"""
