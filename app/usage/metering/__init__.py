"""Meters: what a request and each of its vendor calls used.

Do not know Redis. Read `meter` first.
"""
