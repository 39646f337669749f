"""Motion files as training tracks, aligned pairs, perturbed crops and batches."""
