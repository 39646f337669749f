"""Write eval/README.md's tables from eval/results, or check that they match (--check)."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
MARK = "<!-- tables: written by eval/tables.py from eval/results -->"
TRUE = "-true"  # ends the name of a video result whose queries are the true skeletons


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


def strangers_table() -> list[str]:
    """Small catalogues of procedural dances."""
    table = ["**Strangers and friends** (procedural dances, shares accepted at E ≤ 0.05)", ""]
    table += [
        "| dances known | rank 1 | mirror told rightly | known accepted | unknown accepted |",
        "|---|---|---|---|---|",
    ]
    table += [
        f"| {row['dances']} | {row['rank1']:.0%} | {row['mirror_right']:.0%} |"
        f" {row['true_accepts']['0.05']:.0%} | {row['false_accepts']['0.05']:.1%} |"
        for row in results("strangers")
    ]
    return [*table, ""]


def real_table() -> list[str]:
    """Real clips among AIST++."""
    rows = results("real")
    known = [row for row in rows if row["answerable"]]
    unknown = [row for row in rows if not row["answerable"]]
    return [
        f"**Real clips** of one motion by different people, among {rows[0]['among']} others: "
        f"{sum(row['rank1'] for row in known)} of {len(known)} at rank 1, "
        f"{sum(row['accepted'] for row in known)} of them above the threshold; "
        f"{sum(not row['accepted'] for row in unknown)} of {len(unknown)} clips without a counterpart"
        " refused.",
        "",
    ]


def search_table() -> list[str]:
    """Stage one alone, both stages, without a shortlist, and as the paper prints it; the shipped model."""
    files = sorted((HERE / "results").glob("search-*.jsonl"))
    table = ["**Two stages** (the shipped model, genres seen)", ""]
    table += ["| suite | search | mean score | match in 3 | rank 1 | queries |", "|---|---|---|---|---|---|"]
    for path in files:
        for row in results(path.stem):
            search = row["method"].removeprefix("network-parts14").removeprefix("-") or "histogram"
            dance = "" if row["rank1_dance"] is None else f" ({row['rank1_dance']:.1%})"
            table.append(
                f"| {row['suite']} | {search} | {row['mean_score']:.3f} | {row['match_rate']:.1%} |"
                f" {row['rank1']:.1%}{dance} | {row['queries']} |"
            )
    return [*table, "", *(source_line(path) for path in files), ""]


def places_table() -> list[str]:
    """Where in the dance."""
    table = ["**Where in the dance** (overlap in time of the stretch found with the true one)", ""]
    table += [
        "| dances | queries | overlap | above half | best passage | above half |",
        "|---|---|---|---|---|---|",
    ]
    table += [
        f"| {row['kind']} | {row['queries']} | {row['overlap']:.2f} | {row['overlap_above_half']:.0%} |"
        f" {row['any_passage']:.2f} | {row['any_passage_above_half']:.0%} |"
        for row in results("places")
    ]
    return [*table, "", source_line(HERE / "results" / "places.jsonl"), ""]


def strangers_among_aist_table() -> list[str]:
    """Motions of another data set, asked of all of AIST++."""
    rows = results("open-set-strangers")
    limits = list(rows[0]["false_accepts"])
    unknown = " | ".join(f"{rows[0]['false_accepts'][limit]:.1%}" for limit in limits)
    kinds = "stretches of CMU and procedural motions are the strangers"
    table = [f"**Strangers among AIST++** ({rows[0]['strangers']} {kinds})", ""]
    table += [f"| query | {' | '.join(f'E ≤ {limit}' for limit in limits)} | at 1 % strangers |"]
    table += ["|---|" + "---|" * (len(limits) + 1), f"| stranger, let in | {unknown} | 1 % |"]
    for row in rows:
        shares = " | ".join(f"{row['true_accepts'][limit]:.1%}" for limit in limits)
        table.append(
            f"| {row['query']} ({row['queries']}), named rightly | {shares} |"
            f" {row['true_accepts_at_1_percent']:.1%} |"
        )
    return [*table, "", "![accepted against the E-value](calibration.png)", "",
            source_line(HERE / "results" / "open-set-strangers.jsonl"), ""]  # fmt: skip


def cells_line() -> list[str]:
    """Whose misses."""
    return [
        f"**Whose misses** ({', '.join(row['query_genres'])}, {row['model_id']}): {row['misses']} of "
        f"{row['queries']} queries miss at rank 1; {row['cells_without_a_miss']} of the {row['cells']} "
        f"versions (one dancer's takes of one choreography) have no miss, a tenth of them has "
        f"{row['share_of_misses_in_a_tenth_of_the_cells']:.0%} of all misses, and in "
        f"{row['cells_all_missed']} every take misses."
        for row in results("cells")
    ] + [""]


def ablations_table() -> list[str]:
    """What each choice of the network is worth."""
    rows = results("ablations")
    table = ["**Choices of the network** (rank 1, another dancer, KR and LO never seen; 80 steps each)", ""]
    table += ["| choice | mean score | match in 3 | rank 1 |", "|---|---|---|---|"]
    table += [
        f"| {row['choice']} | {row['mean_score']:.3f} | {row['match_rate']:.1%} | {row['rank1']:.1%} |"
        for row in rows
    ]
    return [*table, "", source_line(HERE / "results" / "ablations.jsonl"), ""]


def choices_table() -> list[str]:
    """How much the change within a patch counts."""
    table = ["**Weight of the change within a patch** (rank 1, genres never seen)", ""]
    rows = results("choices")
    folds = list(rows[0]["rank1"])
    table += [f"| weight | {' | '.join(folds)} | mean |", "|---|" + "---|" * (len(folds) + 1)]
    for row in rows:
        shares = " | ".join(f"{row['rank1'][fold]:.1%}" for fold in folds)
        table.append(f"| {row['difference']} | {shares} | {row['mean']:.1%} |")
    return [*table, ""]


def network_table() -> list[str]:
    """Trained models, the floor and what needs no words, side by side: eval/results/network*.jsonl."""
    files = sorted((HERE / "results").glob("network*.jsonl"))
    if not files:
        return []
    table = ["**The network against the floor**", ""]
    table += ["| suite | query genres | method | mean score | match in 3 | rank 1 | queries |"]
    table += ["|---|---|---|---|---|---|---|"]
    for path in files:
        table += [network_row(row, true=path.stem.endswith(TRUE)) for row in results(path.stem)]
    return [*table, "", *(source_line(path) for path in files), ""]


def network_row(row: dict, *, true: bool) -> str:
    """A row of the table above; genres that the model has not seen are in italics."""
    suite = f"{row['suite']}, true skeletons" if true else row["suite"]
    genres = ", ".join(f"*{one}*" if one in row["unseen_genres"] else one for one in row["query_genres"])
    dance = "" if row["rank1_dance"] is None else f" ({row['rank1_dance']:.1%})"
    return (
        f"| {suite} | {genres} | {row['method']} | {row['mean_score']:.3f} | {row['match_rate']:.1%} |"
        f" {row['rank1']:.1%}{dance} | {row['queries']} |"
    )


def source_line(path: Path) -> str:
    """Where a file's figures come from."""
    head = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    return f"- `{head['command']}`, {head['date']}, {head['machine']}"


def words_table() -> list[str]:
    """What models' words are like apart from any search: eval/results/words.jsonl."""
    path = HERE / "results" / "words.jsonl"
    if not path.exists():
        return []
    rows = results("words")
    changes = list(rows[0]["agreement"])
    table = [f"**The words themselves** ({rows[0]['clips']} clips, seed {rows[0]['seed']})", ""]
    table += [f"| model | genres | usage | perplexity | {' | '.join(changes)} | error |"]
    table += ["|---|---|---|---|" + "---|" * (len(changes) + 1)]
    for row in rows:
        genres = ", ".join(f"*{one}*" for one in row["unseen_genres"]) or "all, seen"
        agreed = " | ".join(f"{row['agreement'][change]:.0%}" for change in changes)
        table.append(
            f"| {row['model_id']} | {genres} | {row['mean']['usage']:.0%} | {row['mean']['perplexity']:.0f} |"
            f" {agreed} | {row['error_cm']:.1f} cm |"
        )
    return [*table, "", source_line(path), ""]


def tables() -> str:
    """All tables, as Markdown."""
    lines = network_table() + cells_line() + ablations_table() + words_table() + search_table()
    lines += suite_table("Same genre, the paper's protocol", "aist-genre")
    lines += suite_table("Same choreography, another dancer", "aist-cross-dancer")
    for genres in ("LH,PO", "KR,LO", "BR,JB,JS"):
        title = f"Another dancer, genres never seen: {genres}"
        lines += suite_table(title, f"aist-cross-dancer-unseen-{genres}")
    lines += places_table() + strangers_table() + real_table()
    lines += strangers_among_aist_table() + open_set_table() + choices_table()
    return "\n".join(lines)


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
