"""The data as the method reads it, and sums over it."""
