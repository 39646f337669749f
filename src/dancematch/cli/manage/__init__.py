"""Verbs that keep catalogues."""
