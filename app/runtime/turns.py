"""Lets other greenlets run during long computations, so that no stream stalls."""

import time

#: More than 0, in seconds: after a sleep of 0 s, gevent runs up to fifty ready greenlets, this one
#: included, before it checks for I/O. Any timer ends that round.
TURN_S = 1e-9


def give_turn() -> None:
    """Let other greenlets run: those that are ready, and those whose data has arrived."""
    time.sleep(TURN_S)  # ends this greenlet's turn
