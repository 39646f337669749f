"""What people look at: comparisons, evidence, drawings, pictures, the gallery of words."""
