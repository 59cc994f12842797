"""Tollgate: a gateway for text completions that accounts for every token."""

import gc

#: The release; CHANGELOG.md says what it changes, and how to upgrade to it.
__version__ = "0.2.0"

# A process imports thousands of objects, all of which stay. A collection every 700 of them took a
# fifth of the time in which a command or a worker starts.
gc.set_threshold(10_000)
