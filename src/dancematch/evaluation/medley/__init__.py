"""The suite `medley`: programmes of many dances one after the other, scanned as a whole."""
