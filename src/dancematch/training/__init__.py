"""Fitting tokenisers."""
