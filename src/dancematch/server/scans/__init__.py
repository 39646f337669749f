"""Scans of long videos and of a camera: run, held with their skeletons, corrected."""
