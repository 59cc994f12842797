"""The keys of Redis that hold usage on its way to the ledger."""

OPEN = "usage:open"
STARTED = "usage:started"
OWNER = "usage:owner:"
EVENTS = "usage:events"
DEAD = "usage:dead"
DRAINED = "usage:drained"
RESERVED = "usage:reserved"
LIMITS = "limits:"
#: Written to see that Redis takes it.
PROBE = "usage:probe"
