"""Fitting tokenisers: k-means, and networks from motion files."""
