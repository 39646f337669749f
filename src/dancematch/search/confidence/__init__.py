"""From scores to a decision: cohort, likelihood ratio, verdict."""
