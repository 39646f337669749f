"""Figures computed from answers: ranks, accept rates, likelihood ratios, overlaps, and their intervals."""
