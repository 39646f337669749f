"""Procedural dances, rendered as video, and the demonstration made of them."""
