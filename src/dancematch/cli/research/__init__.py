"""Verbs that measure and train."""
