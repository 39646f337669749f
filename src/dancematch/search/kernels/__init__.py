"""Kernels: functions that numba compiles, kept compiled on disk so that no search waits for a compiler."""
