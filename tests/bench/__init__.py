"""Tests of the benchmark: it must measure what it says."""
