"""A turn for the others: what long work gives now and then, so that no stream stands still."""

import time

#: Not a wait, but not 0 either: a greenlet that sleeps for 0 s lets fifty others go on, itself
#: included, before anybody looks whether something has arrived. Any time at all ends the round.
TURN_S = 1e-9


def give_turn() -> None:
    """Let others go on: those that are ready, and those for whom something has arrived."""
    time.sleep(TURN_S)  # what ends a greenlet's turn; nobody waits for the time
