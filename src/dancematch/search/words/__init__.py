"""The words of known dances as arrays in memory, and their cache on disk."""
