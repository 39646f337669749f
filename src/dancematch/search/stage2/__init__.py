"""Stage two: words in order, synchrony, and the ranking of candidates."""
