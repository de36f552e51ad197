"""Bisecting fits (Algorithm 2): cluster after cluster is split in two, and the tree that this leaves."""
