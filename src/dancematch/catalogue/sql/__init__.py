"""A catalogue in SQL: the tables, how a database is reached, and how records become rows."""
