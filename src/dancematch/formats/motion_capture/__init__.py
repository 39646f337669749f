"""Formats of joints in space: AIST++, SMPL and AMASS, CoMotion, BVH."""
