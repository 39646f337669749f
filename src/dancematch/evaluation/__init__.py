"""How well dances are found: suites of queries, methods that answer them, measures of the answers."""
