"""How well dances are found: metrics and protocols."""
