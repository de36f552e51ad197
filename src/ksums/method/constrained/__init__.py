"""Constraints that hold: exact assignments under size limits, exchanges and cycles, links, fixed clusters."""
