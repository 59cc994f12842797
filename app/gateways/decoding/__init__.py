"""What the decoders of all API formats share: framing, JSON, counts, finish reasons, errors.

Does not depend on any one vendor. Read `reader` first, then `assembly` and `decoder`.
"""
