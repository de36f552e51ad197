"""Bridges to other libraries; each requires an optional dependency."""
