"""Work on many machines, by Ray: a catalogue searched in shards, clips analysed on all nodes."""
