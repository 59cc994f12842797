"""The Redis keys of usage on its way to the ledger."""

OPEN = "usage:open"
STARTED = "usage:started"
OWNER = "usage:owner:"
EVENTS = "usage:events"
DEAD = "usage:dead"
POSTED = "usage:posted"
RESERVED = "usage:reserved"
CELL = "usage:cell"
LIMITS = "limits:"
#: Written to find out whether Redis accepts writes.
PROBE = "usage:probe"
