"""A fitted model and its data as one HTML page that opens offline."""

from ksums.report.describe import Description, describe
from ksums.report.page import write_report

__all__ = ["Description", "describe", "write_report"]
