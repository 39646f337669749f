"""Formats of keypoints that pose estimators find in pictures: as JSON, and as CSV tables."""
