"""stub"""

from pathlib import Path


def write_report(demo):
    return demo.folder / "report.html"
