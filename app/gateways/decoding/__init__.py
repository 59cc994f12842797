"""What the readers of all API formats share: framing, JSON, counts, finish reasons, errors.

Does not know any one vendor. Read `reader` first, then `wire`.
"""
