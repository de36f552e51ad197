"""Searches that go beyond passes: merge–split for better optima, and a walk through a graph of centres."""
