"""The state of a clustering, its size limits, and the invariants that tests check after every pass."""
