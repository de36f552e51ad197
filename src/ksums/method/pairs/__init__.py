"""Clusterings that know distances only: sums of distances between samples and clusters."""
