"""The Redis keys of usage on its way to the ledger."""

OPEN = "usage:open"
STARTED = "usage:started"
OWNER = "usage:owner:"
EVENTS = "usage:events"
DEAD = "usage:dead"
POSTED = "usage:posted"
#: What the numbers of processes are: last given, posted, and missing.
GIVEN = "usage:given"
NUMBERS_POSTED = "usage:numbers"
MISSING = "usage:missing"
EPOCH = "usage:epoch"
RESERVED = "usage:reserved"
LIMITS = "limits:"
#: Requests that were served without a check of their limits, by reason.
UNCHECKED = "limits:unchecked"
#: Written to find out whether Redis accepts writes.
PROBE = "usage:probe"
#: Refused requests that the ledger does not have yet, and the last report of each process.
REFUSALS = "usage:refusals"
REFUSALS_BATCH = "usage:refusals:batch"
REFUSALS_OF = "usage:refusals:of:"
