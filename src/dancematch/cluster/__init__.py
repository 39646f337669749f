"""Work on many machines, by Ray: search in parts of a catalogue, and clips looked at everywhere."""
