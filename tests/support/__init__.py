"""What the tests share: a running Tollgate, servers that stand in for vendors, real services."""
