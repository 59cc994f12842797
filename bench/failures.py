"""What ends a run of the benchmark."""


class BenchFailed(Exception):
    """A measurement that would be none: the message says what happened instead."""


class NotReady(BenchFailed):
    """A server does not answer as it should, or what is waited for does not come about."""


class LoadFailed(BenchFailed):
    """Not every request was answered with 200."""


class StreamsBroken(BenchFailed):
    """Streams that must be complete are not."""
