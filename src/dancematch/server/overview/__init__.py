"""Views of a whole catalogue: its vocabulary, and its dances as a map."""
