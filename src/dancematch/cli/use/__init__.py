"""Verbs that recognise, compare and explain dances."""
