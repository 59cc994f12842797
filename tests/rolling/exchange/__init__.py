"""What processes share, written by one version and read by the other.

Both versions run this package, each with its own `app` and `workers`: nothing here may need what
only one of them has. Where an interface has changed, both ways of using it stand here.
"""
