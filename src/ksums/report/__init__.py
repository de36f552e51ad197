"""A report about a fitted model and its data: one HTML page that opens offline."""

from ksums.report.constraints import ConstraintFacts
from ksums.report.describe import ClusterFacts, Description, describe
from ksums.report.page import Page, show_report, write_report

__all__ = ["ClusterFacts", "ConstraintFacts", "Description", "Page", "describe", "show_report", "write_report"]
