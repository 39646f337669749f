"""All dances of one catalogue into another, or into a folder of plain files, and back."""
