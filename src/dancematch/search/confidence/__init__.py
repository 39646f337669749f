"""How strongly scores speak for one dance: cohort, likelihood ratio, verdict."""
