"""Sphinx configuration: pages are executed as they are built, so that no example is stale."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Executed pages show their pictures as notebooks do, whatever the shell has set.
os.environ.pop("MPLBACKEND", None)

import bayescm

project = "bayescm"
copyright = "2026, the bayescm developers"
version = release = bayescm.__version__

extensions = [
    "call_trace",
    "coverage_table",
    "mathml",
    "myst_nb",
    "numpydoc",
    "reference_pages",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "unsupported",
]
html_theme = "furo"
html_math_renderer = "mathml"
html_title = "bayescm"
html_static_path = ["_static"]
html_css_files = ["tables.css", "formulas.css"]
templates_path = ["_templates"]
exclude_patterns = [
    "_build",
    "gallery",
    "results",
    "validation",
    "**sg_execution_times.rst",
    "auto_gallery/**/*.ipynb",
    "auto_gallery/**/*.json",
    "auto_gallery/**/*.py",
    "auto_gallery/**/*.py.md5",
    "auto_gallery/**/*.zip",
]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
nb_execution_show_tb = True

autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autodoc_typehints = "none"

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r"/\d\d_",
    "copyfile_regex": r".*\.rst",
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 10_000,
    "abort_on_example_error": True,
}
