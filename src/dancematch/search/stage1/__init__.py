"""Stage one: which dances are worth a closer look, out of all."""
