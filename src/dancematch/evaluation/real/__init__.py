"""The suite `real`: clips as people post them, in a folder with an index.csv."""
