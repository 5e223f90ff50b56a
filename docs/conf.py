"""How the pages of this folder become a site: `make docs`, then site/index.html.

Sphinx with MyST and furo, of what PyPI had in November 2026. Sphinx has had releases for eighteen years and this
autumn too; with -W every warning ends the build, a link to a heading that is not there among them, and its linkcheck
builder looks at the outside links. furo works from a file, without a network. MkDocs has had no release since August 2024,
and Material for MkDocs only gets security fixes. ProperDocs, the fork, goes on with the plugins, on one maintainer.
Zensical builds faster, is young (0.1), and marks its own link checks as about to be replaced: worth a look later. The pages
are plain Markdown that git hosts show as they are, so that changing the generator changes this file and index.md.
"""

project = "gitbeads"
author = "the gitbeads contributors"
html_title = "gitbeads"

extensions = ["myst_parser"]
exclude_patterns = ["conf.py"]
html_theme = "furo"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

# Links go to headings by the anchors that git hosts make of them.
myst_heading_anchors = 4

# What may not be there is an error, wherever Sphinx by itself would let it pass.
nitpicky = True
