"""DanceTypesBenchmark and the means to make one: procedural dances, dancers and mannequin videos."""
