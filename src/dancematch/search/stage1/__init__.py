"""Stage one: the shortlist, out of all dances."""
