"""How Sphinx makes a site of these documents: `make docs`, then open build/docs/index.html."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "theme"))  # the extensions of our own

project = "DanceMatch"
author = "The authors of DanceMatch"
project_copyright = "the authors of DanceMatch, Apache-2.0"
version = release = installed_version("dancematch")

extensions = ["myst_parser", "sphinx.ext.autodoc", "command_page", "docstrings", "rest_page"]
exclude_patterns = ["theme"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

smartquotes = False  # options begin with two hyphens

# Docstrings write names in single backticks, as Markdown does.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
python_maximum_signature_line_length = 88

html_theme = "furo"
html_title = "DanceMatch"
html_static_path = ["theme/static"]
html_css_files = ["site.css"]
html_favicon = "../src/dancematch/server/static/icon.svg"
html_copy_source = False
html_show_search_summary = False  # it would be fetched, which browsers refuse for files
html_show_sphinx = False
# The colours of the service's page.
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#6d35a8",
        "color-brand-content": "#6d35a8",
        "color-brand-visited": "#6d35a8",
        "color-background-primary": "#faf8f5",
        "color-background-secondary": "#f1eee9",
        "color-foreground-primary": "#1d1a20",
    },
    "dark_css_variables": {
        "color-brand-primary": "#c9a2f7",
        "color-brand-content": "#c9a2f7",
        "color-brand-visited": "#c9a2f7",
        "color-background-primary": "#141217",
        "color-background-secondary": "#1e1b22",
        "color-foreground-primary": "#f3f0f5",
    },
}
