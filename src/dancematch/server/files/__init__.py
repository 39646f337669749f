"""Files on disk: uploads, and the videos of recordings where they are kept."""
