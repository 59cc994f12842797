"""Recording: has each request of a web process recorded, whether or not Redis is up.

Read `recorder` first.
"""
