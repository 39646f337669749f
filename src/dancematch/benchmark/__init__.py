"""DanceTypesBenchmark: labelled clips, or rendered ones, become a release that can be published."""
