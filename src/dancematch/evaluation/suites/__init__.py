"""Queries with known answers: AIST++ clips, excerpts, views, benchmark releases, unknown dances."""
