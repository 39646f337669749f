"""Fingerprint -> Match: which known dance, where in it, and how sure."""
