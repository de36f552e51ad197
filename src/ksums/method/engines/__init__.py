"""Engines: one pass over the data, in which each sample is offered to all clusters or to those nearest to its own."""
