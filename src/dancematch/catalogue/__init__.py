"""Where fingerprints live."""
