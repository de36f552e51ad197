"""Streams: samples that join a cluster when they arrive, and can be taken out again."""
