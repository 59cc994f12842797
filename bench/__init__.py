"""The benchmark: what Tollgate adds to a vendor's response, measured here (`make bench`)."""
