"""BlazePose, the default estimator: detector and landmark network, tracker, fragments joined, weights."""

from dancematch.pose.blazepose.estimator import BlazePose

__all__ = ["BlazePose"]
