"""The log of a run: the same rows as `log.jsonl` for programs and `log.csv` for spreadsheets."""

import csv
import json
from pathlib import Path

Row = dict[str, float]


class RunLog:
    """Rows of numbers, one per check, written as they come."""

    def __init__(self, folder: Path) -> None:
        self.lines = folder / "log.jsonl"
        self.table = folder / "log.csv"

    def read(self) -> list[Row]:
        """Every complete row; a killed process may have left half of one."""
        if not self.lines.exists():
            return []
        rows = []
        for line in self.lines.read_text(encoding="utf-8").splitlines():
            try:
                rows.append(dict(json.loads(line)))
            except ValueError:
                break
        return rows

    def append(self, row: Row) -> None:
        """Add a row; all rows have the same fields."""
        new = not self.table.exists()
        with self.lines.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        with self.table.open("a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(row))
            if new:
                writer.writeheader()
            writer.writerow(row)

    def truncate(self, step: int) -> None:
        """Remove the rows after `step`, from which the run continues."""
        rows = [row for row in self.read() if row["step"] <= step]
        self.lines.unlink(missing_ok=True)
        self.table.unlink(missing_ok=True)
        for row in rows:
            self.append(row)
