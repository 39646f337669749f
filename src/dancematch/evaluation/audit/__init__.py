"""How far a catalogue can be trusted: its own dances, changed and searched for."""
