"""Motion -> Fingerprint: putting motion into words."""
