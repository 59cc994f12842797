"""Faults under load: the simulated vendor's call log is compared with the ledger.

`make chaos` runs it at length, tests/chaos/test_chaos.py in a short form.
"""
