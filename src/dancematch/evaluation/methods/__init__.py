"""What is measured: searches by words, and the methods without words that they are compared with."""
