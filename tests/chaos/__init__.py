"""Faults under load, and the simulated vendor's own list of calls held against the ledger.

`make chaos` runs it at length, tests/chaos/test_chaos.py in a short form.
"""
