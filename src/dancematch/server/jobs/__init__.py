"""Jobs: their table, the threads that run them, and the process that analyses one file."""
