"""Fits of data in blocks that need not be in one memory, or on one machine.

A block is handed the sums of all clusters, makes an ordinary pass over its own rows as if nobody else moved, and hands
back what its moves changed. The changes are added up and give the sums of the next round. Nothing else travels.
"""
