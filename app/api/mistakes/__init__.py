"""What callers do wrong, and the sentence that names the next step: paths, keys, bodies, models.

No I/O and no Flask: each module takes what the caller sent. They run only when a request fails.
"""
