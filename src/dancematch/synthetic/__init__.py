"""Procedural dancers, the renderer that films them, and the demonstration."""
