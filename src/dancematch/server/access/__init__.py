"""Who may use the service: tokens, the checks on every request, and how much runs at once."""
