"""Which dance when: long videos, live pictures and motions, window by window."""

from dancematch.pipeline.scan.segments import ScanSegment

__all__ = ["ScanSegment"]
