"""Searches that were answered: held for a while, explained and reported on."""
