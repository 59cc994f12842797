"""Two versions of Tollgate side by side: processes of an older commit beside those of this one.

Read `test_upgrade`, then `rollout`. `exchange` is what each version writes and the other reads.
"""
