"""Data sets: ``load_*`` reads files that are on disk, ``fetch_*`` downloads the paper's data from its publishers."""

from ksums.datasets._dataset import Dataset
from ksums.datasets._download import DownloadError, download
from ksums.datasets._fetch import (
    SOURCES,
    fetch_documents,
    fetch_glove,
    fetch_rhythm_histograms,
    fetch_sift,
    fetch_susy,
)
from ksums.datasets._folder import cache_folder
from ksums.datasets._generated import make_documents
from ksums.datasets._load import (
    DOCUMENTS,
    documents_at_hand,
    load_audio,
    load_documents,
    load_events,
    load_glove,
    load_sift,
)

__all__ = [
    "DOCUMENTS",
    "Dataset",
    "DownloadError",
    "SOURCES",
    "cache_folder",
    "documents_at_hand",
    "download",
    "fetch_documents",
    "fetch_glove",
    "fetch_rhythm_histograms",
    "fetch_sift",
    "fetch_susy",
    "load_audio",
    "load_documents",
    "load_events",
    "load_glove",
    "load_sift",
    "make_documents",
]
