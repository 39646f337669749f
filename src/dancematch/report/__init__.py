"""Pages and pictures for people: comparisons, evidence reports, the word gallery.

`templates/` holds the markup of the pages, `svg.py` their drawings, `plots.py` pictures by matplotlib.
"""
