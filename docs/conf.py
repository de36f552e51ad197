"""Configuration of the documentation. ``make docs`` builds it; warnings are errors."""

import logging
import os
from importlib.metadata import version as version_of
from pathlib import Path

from sphinx_gallery.sorting import ExplicitOrder

os.environ.setdefault("MPLBACKEND", "Agg")
logging.getLogger("faiss.loader").setLevel(logging.WARNING)

project = "ksums"
author = "The ksums developers"
copyright = author
version = release = version_of("ksums")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
exclude_patterns = ["_build", "gallery/GALLERY_HEADER.rst"]

html_theme = "furo"
html_title = "ksums"
html_static_path = ["_static"]
html_extra_path = ["_extra"]  # example reports, written by pages.py
html_css_files = ["ksums.css"]
html_show_sphinx = False
html_show_copyright = False
smartquotes_action = "qe"  # no dashes: --effort stays --effort

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autodoc_default_options = {
    "members": True,
    "member-order": "bysource",
    "exclude-members": "get_metadata_routing, set_fit_request, set_partial_fit_request, set_predict_request, "
    "set_score_request, set_transform_request, set_output, get_params, set_params",
}
autodoc_typehints = "none"  # the docstrings describe types in words
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

nitpicky = True  # an unresolved reference is an error
nitpick_ignore_regex = [
    ("py:(class|obj|exc)", r"(?!ksums).*"),  # types described in words
    ("py:.*", r"(sklearn|scipy|numpy|onnx|faiss|pandas|matplotlib)\..*"),  # other projects
]


def _keep_colons(app, what, name, obj, options, lines):
    """Start the docstring of an attribute with an empty word: Napoleon reads words before a colon as a type."""
    if what in ("attribute", "property") and lines:
        lines.insert(0, "\\ ")


def setup(app):
    app.connect("autodoc-process-docstring", _keep_colons, priority=400)  # before Napoleon, which has 500


_EXAMPLES = Path(__file__).parents[1] / "examples"
_ORDER = (
    "plot_instead_of_kmeans.py",
    "plot_what_a_fit_does.py",
    "plot_how_many_clusters.py",
    "plot_two_objectives.py",
    "plot_even_clusters.py",
    "plot_constraints.py",
    "plot_colours.py",
    "plot_texts.py",
    "plot_tree.py",
    "plot_stream.py",
    "plot_many_clusters.py",
    "plot_vector_search.py",
    "plot_report.py",
)
sphinx_gallery_conf = {
    "examples_dirs": [str(_EXAMPLES)],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"demo\.py$",
    "within_subsection_order": ExplicitOrder([*_ORDER, "*"]),
    "abort_on_example_error": True,
    "min_reported_time": 1e9,  # times are not shown: without quality and memory they say little
    "show_memory": False,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
}
