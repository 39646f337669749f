"""A training run: its folder, steps, checkpoints, log and curves."""
