"""Real services that the tests start and stop."""
