"""Checks of everything a user passes in, and every message about it.

A message names the parameter, what was got, what is allowed, and the way out.
"""
