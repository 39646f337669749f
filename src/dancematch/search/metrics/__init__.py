"""How similar two word sequences are: one registry, one file per family of metrics."""
