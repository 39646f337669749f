"""Files on disk: uploads, and the videos of dances where they are kept."""
