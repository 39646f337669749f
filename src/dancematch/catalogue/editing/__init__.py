"""Corrections: what people say of dances and recordings, changed all at once or not at all, and undone."""
