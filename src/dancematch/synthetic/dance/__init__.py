"""Procedural choreographies and the bodies that perform them."""
