"""Write eval/README.md's tables from eval/results, or check that they match (--check)."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
MARK = "<!-- tables: written by eval/tables.py from eval/results -->"


def results(name: str) -> list[dict]:
    """The result lines of a file, without its header."""
    lines = (HERE / "results" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[1:]]


def suite_table(title: str, name: str) -> list[str]:
    """A table of one suite: a row a method."""
    rows = results(name)
    head = json.loads((HERE / "results" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()[0])
    table = [f"**{title}** ({rows[0]['queries']} queries, chance {rows[0]['chance']:.1%} at rank 1)", ""]
    table += ["| method | mean score | match in 3 | rank 1 |", "|---|---|---|---|"]
    table += [
        f"| {row['method']} | {row['mean_score']:.3f} | {row['match_rate']:.1%} | {row['rank1']:.1%} |"
        for row in rows
    ]
    return [*table, "", f"`{head['command']}`, {head['date']}, {head['machine']}, seed {rows[0]['seed']}", ""]


def open_set_table() -> list[str]:
    """What the E-value lets in and keeps out."""
    rows = results("open-set")
    limits = list(rows[0]["false_accepts"])
    table = ["**Known or not** (share accepted at each E-value limit)", ""]
    table += [f"| query | dance | {' | '.join(f'E ≤ {limit}' for limit in limits)} |"]
    table += ["|---|---|" + "---|" * len(limits)]
    for row in rows:
        for kind, label in (
            ("true_accepts", "known, named rightly"),
            ("false_accepts", "not in the catalogue"),
        ):
            shares = " | ".join(f"{row[kind][limit]:.0%}" for limit in limits)
            table.append(f"| {row['query']} | {label} | {shares} |")
    return [*table, ""]


def tables() -> str:
    """All tables, as Markdown."""
    lines = suite_table("Same genre, the paper's protocol", "aist-genre")
    lines += suite_table("Same choreography, another dancer", "aist-cross-dancer")
    for genres in ("LH,PO", "KR,LO", "BR,JB,JS"):
        title = f"Another dancer, genres never seen: {genres}"
        lines += suite_table(title, f"aist-cross-dancer-unseen-{genres}")
    return "\n".join([*lines, *open_set_table()])


def main() -> None:
    """Put the tables behind the mark in the README."""
    page = HERE / "README.md"
    text = page.read_text(encoding="utf-8").split(MARK)[0] + MARK + "\n\n" + tables()
    if "--check" in sys.argv[1:]:
        if text != page.read_text(encoding="utf-8"):
            sys.exit("eval/README.md does not match eval/results; run python eval/tables.py")
        return
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
