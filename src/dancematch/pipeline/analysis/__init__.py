"""Clips -> skeletons: which files are clips, what each shows, in this process, in workers or for a folder."""
