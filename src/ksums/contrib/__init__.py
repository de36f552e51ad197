"""Bridges to other libraries, each an optional extra."""
