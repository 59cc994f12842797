"""What Tollgate adds to a vendor's answer, measured here and now: `make bench`."""
