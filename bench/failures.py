"""The errors that end a run of the benchmark."""


class BenchFailed(Exception):
    """The measurement is invalid; the message gives the reason."""


class NotReady(BenchFailed):
    """A server does not respond correctly, or a condition was not met in time."""


class LoadFailed(BenchFailed):
    """A request did not get status 200."""


class StreamsBroken(BenchFailed):
    """Streams are incomplete."""
