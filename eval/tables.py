"""Write eval/README.md's tables from eval/results, or check that they match (--check)."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dancematch.search.confidence.verdict import MAX_EVALUE, POSSIBLE_EVALUE

HERE = Path(__file__).parent
RESULTS = HERE / "results"
MARK = "<!-- tables: written by eval/tables.py from eval/results -->"
TRUE = "-true"  # ends the name of a video result whose queries are the true skeletons

SUITES = {
    "aist-genre": "Same genre, the paper's protocol",
    "aist-choreography": "Same choreography, any other take",
    "aist-cross-dancer": "Same choreography, another dancer",
    "scale": "A hundred dances, fifty performances each",
}
# Where the rows of these are, in order.
FILES = ("aist", "aist-likelihood", "floor", "scale", "scale-sample", "scale-dtw")
PAPER = {  # what the paper prints, on ten genres and on its own videos: mean score, match in 3, rank 1
    "aist-genre": [
        ("*paper: histogram index, ten genres*", "0.487", "61.9%", "38.1%"),
        ("*paper: brute force, ten genres*", "0.509", "65.3%", "39.0%"),
    ],
    "scale": [("*paper, its own videos*", "≥ 0.5", "-", "> 40%")],
}


def results(name: str) -> list[dict]:
    """The result lines of a file, without its header."""
    lines = (RESULTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[1:]]


def source_line(name: str) -> str:
    """Where a file's figures come from."""
    head = json.loads((RESULTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()[0])
    note = f" ({head['note']})" if "note" in head else ""
    return f"- `{head['command']}`, {head['date']}, {head['machine']}{note}"


def markdown(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table under a title."""
    lines = [f"**{title}**", "", f"| {' | '.join(headings)} |", "|---" * len(headings) + "|"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows), ""]


def share(row: dict, name: str) -> str:
    """A figure in percent, with its interval if it has one."""
    if row.get(name) is None:
        return "-"
    low_high = row.get("intervals", {}).get(name)
    interval = f" ({100 * low_high[0]:.1f} to {100 * low_high[1]:.1f})" if low_high else ""
    return f"{row[name]:.1%}{interval}"


def suite_table(suite: str) -> list[str]:
    """One suite: chance, the paper, and a row a method."""
    found = [row for name in FILES for row in results(name) if row["suite"] == suite]
    rows = [["*chance*", "-", "-", f"{found[0]['chance']:.1%}", "-", "-"]]
    rows += [[*paper, "-", "-"] for paper in PAPER.get(suite, ())]
    rows += [
        [
            row["method"], f"{row['mean_score']:.3f}", share(row, "match_rate"), share(row, "rank1"),
            f"{row['mean_average_precision']:.3f}", str(row["queries"]),
        ]
        for row in found
    ]  # fmt: skip
    headings = ["method", "mean score", "match in 3 (95 %)", "rank 1 (95 %)", "mAP", "queries"]
    return markdown(f"{SUITES[suite]}: `{suite}`", headings, rows)


def scale_parts() -> list[str]:
    """Scale by how a query is related to the references."""
    rows = [
        [row["method"], part, f"{own['mean_score']:.3f}", f"{own['rank1']:.1%}", str(own["queries"])]
        for row in results("scale")
        for part, own in row["parts"].items()
    ]
    return markdown("Scale, by kind of query", ["method", "query", "mean score", "rank 1", "queries"], rows)


def leave_out_table() -> list[str]:
    """The same choreography with most of its takes gone."""
    rows = [
        [str(row["facts"]["leave_out"]), row["method"], share(row, "rank1"), f"{row['chance']:.2%}"]
        for row in [*(r for r in results("aist") if r["suite"] == "aist-choreography"), *results("leave-out")]
        if row["method"] in ("stage1", "two-stage", "kmeans")
    ]
    title = "Leave K out (aist-choreography): of the takes of the query, K are missing, itself included"
    return markdown(title, ["K", "method", "rank 1 (95 %)", "chance"], rows)


def unseen_table() -> list[str]:
    """Genres that neither the network nor the floor has seen."""
    rows = [
        [row["suite"], row["method"], f"{row['mean_score']:.3f}", share(row, "match_rate"),
         share(row, "rank1"), f"{row['mean_average_precision']:.3f}", str(row["queries"])]
        for row in results("unseen")
    ]  # fmt: skip
    headings = ["suite", "method", "mean score", "match in 3 (95 %)", "rank 1 (95 %)", "mAP", "queries"]
    return markdown("Genres never seen (LH, PO)", headings, rows)


def folds_table() -> list[str]:
    """Every genre never seen once: three networks, each trained without some; all queries together."""
    files = ("unseen", "unseen-KR,LO", "unseen-BR,JB,JS")
    folds = [[row for row in results(name) if row["suite"] == "aist-cross-dancer"] for name in files]
    rows = []
    for same in zip(*folds, strict=True):
        queries = [row["queries"] for row in same]
        pooled = sum(row["rank1"] * count for row, count in zip(same, queries, strict=True)) / sum(queries)
        by_fold = [f"{row['rank1']:.1%}" for row in same]
        rows.append([same[0]["method"], *by_fold, f"{pooled:.1%}", str(sum(queries))])
    headings = ["method", *(", ".join(fold[0]["query_genres"]) for fold in folds), "all", "queries"]
    title = "Every genre never seen once (aist-cross-dancer, rank 1): a network trained without each group"
    note = "Choices were made on KR and LO, and looked at on BR, JB and JS; only LH and PO were kept apart."
    return [*markdown(title, headings, rows), note, "", *map(source_line, files[1:]), ""]


def likelihood_folds_table() -> list[str]:
    """The same with the ranking by likelihood ratio, of other networks made in the same way."""
    files = [f"unseen-likelihood-{genres}" for genres in ("LH,PO", "KR,LO", "BR,JB,JS")]
    rows = []
    for same in zip(*map(results, files), strict=True):
        counts = [row["queries"] for row in same]
        pooled = sum(row["rank1"] * count for row, count in zip(same, counts, strict=True)) / sum(counts)
        rows.append(
            [same[0]["method"], *(f"{row['rank1']:.1%}" for row in same), f"{pooled:.1%}", str(sum(counts))]
        )
    headings = ["method", "LH, PO", "KR, LO", "BR, JB, JS", "all", "queries"]
    title = "Every genre never seen once, ranked by likelihood ratio (other networks, made in the same way)"
    return [*markdown(title, headings, rows), *map(source_line, files), ""]


def benchmark_table() -> list[str]:
    """A release of `dancematch benchmark`, read back."""
    name = "benchmark-synthetic-medium"
    rows = [
        [row["method"], f"{row['mean_score']:.3f}", share(row, "match_rate"), share(row, "rank1"),
         f"{row['mean_average_precision']:.3f}", f"{row['chance']:.1%}", str(row["queries"])]
        for row in results(name)
    ]  # fmt: skip
    headings = ["method", "mean score", "match in 3 (95 %)", "rank 1 (95 %)", "mAP", "chance", "queries"]
    title = "DanceTypesBenchmark, synthetic edition (20 dances by 10 performers, rendered): `benchmark`"
    return [*markdown(title, headings, rows), source_line(name), ""]


def excerpt_table() -> list[str]:
    """Excerpts by length: the clip, the dance, the place."""
    rows = [
        [f"{row['facts']['excerpt_seconds']:g} s", row["method"], share(row, "rank1"),
         share(row, "rank1_dance"), place(row, "basic"), place(row, "advanced"), str(row["queries"])]
        for row in results("excerpt")
    ]  # fmt: skip
    headings = ["length", "method", "the clip first (95 %)", "the dance first (95 %)"]
    headings += ["overlap, basic", "overlap, advanced", "queries"]
    return markdown("Changed excerpts among all clips: `excerpt`", headings, rows)


def place(row: dict, part: str) -> str:
    """How well excerpts of one kind of dance are placed."""
    overlap = row["parts"].get(part, {}).get("temporal_iou")
    return "-" if overlap is None else f"{overlap:.2f}"


def strength_table() -> list[str]:
    """Excerpts by strength of the changes."""
    rows = results("excerpt-strength")
    strengths = sorted({row["facts"]["strength"] for row in rows})
    by_method: dict[str, dict[float, dict]] = {}
    for row in rows:
        by_method.setdefault(row["method"], {})[row["facts"]["strength"]] = row
    lines = [
        [method, *(share({**found[one], "intervals": {}}, "rank1_dance") for one in strengths)]
        for method, found in by_method.items()
    ]
    title = f"Five seconds, changed more and more: the dance first ({rows[0]['queries']} queries a strength)"
    return markdown(title, ["method", *(f"{one:g}" for one in strengths)], lines)


def video_table() -> list[str]:
    """What a pose estimator saw of rendered clips."""
    rows = [
        [row["method"], share(row, "rank1"), share(row, "rank1_dance"), f"{row['chance']:.1%}",
         str(row["queries"])]
        for row in results("video")
    ]  # fmt: skip
    headings = ["method", "the clip first (95 %)", "the dance first (95 %)", "chance", "queries"]
    return markdown("Rendered video, genres seen: `video`", headings, rows)


def open_set_table() -> list[str]:
    """Which verdicts known and unknown dances get."""
    rows = [
        [row["query"], f"{row['rank1']:.1%}", accepted(row, "true_accepts"), accepted(row, "false_accepts"),
         *(f"{row[kind][str(POSSIBLE_EVALUE)]:.1%}" for kind in ("true_accepts", "false_accepts")),
         share(row, "true_accepts_at_1_percent"), f"{row['queries']} / {row['strangers']}"]
        for row in results("open-set")
    ]  # fmt: skip
    headings = ["query", "rank 1", "known, right and a match (95 %)", "unknown, a match (95 %)"]
    headings += ["known, right and at least possible", "unknown, at least possible"]
    headings += ["known, right at 1 % of the unknown", "known / unknown"]
    title = f"Known or not (match: E ≤ {MAX_EVALUE:g}, possible match: E < {POSSIBLE_EVALUE:g}): `open-set`"
    return markdown(title, headings, rows)


def accepted(row: dict, kind: str) -> str:
    """The share that is a match, with its interval."""
    interval = row["intervals"][f"{kind}_{MAX_EVALUE}"]
    return share({"rate": row[kind][str(MAX_EVALUE)], "intervals": {"rate": interval}}, "rate")


def floor_unseen_table() -> list[str]:
    """The floor refitted without each fold of genres."""
    folds = ("LH,PO", "KR,LO", "BR,JB,JS")
    rows = [
        [fold, row["method"], f"{row['mean_score']:.3f}", share(row, "match_rate"), share(row, "rank1"),
         str(row["queries"])]
        for fold in folds
        for row in results(f"aist-cross-dancer-unseen-{fold}")
    ]  # fmt: skip
    title = "The floor on genres it was not fitted on (aist-cross-dancer)"
    return markdown(title, ["genres", "method", "mean score", "match in 3", "rank 1", "queries"], rows)


def network_table() -> list[str]:
    """Trained models, the floor and what needs no words, side by side: eval/results/network*.jsonl."""
    files = sorted(path.stem for path in RESULTS.glob("network*.jsonl"))
    rows = [network_row(row, true=name.endswith(TRUE)) for name in files for row in results(name)]
    headings = ["suite", "query genres", "method", "mean score", "match in 3", "rank 1", "queries"]
    return [*markdown("The network against the floor", headings, rows), *map(source_line, files), ""]


def network_row(row: dict, *, true: bool) -> list[str]:
    """A row of the table above; genres that the model has not seen are in italics."""
    suite = f"{row['suite']}, true skeletons" if true else row["suite"]
    unseen = row.get("unseen", row.get("unseen_genres", ()))
    genres = ", ".join(f"*{one}*" if one in unseen else one for one in row["query_genres"])
    dance = "" if row["rank1_dance"] is None else f" ({row['rank1_dance']:.1%})"
    return [
        suite, genres, row["method"], f"{row['mean_score']:.3f}", f"{row['match_rate']:.1%}",
        f"{row['rank1']:.1%}{dance}", str(row["queries"]),
    ]  # fmt: skip


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
    rows = [
        [row["choice"], f"{row['mean_score']:.3f}", f"{row['match_rate']:.1%}", f"{row['rank1']:.1%}"]
        for row in results("ablations")
    ]
    title = "Choices of the network (rank 1, another dancer, KR and LO never seen; 80 steps each)"
    table = markdown(title, ["choice", "mean score", "match in 3", "rank 1"], rows)
    return [*table, source_line("ablations"), ""]


def words_table() -> list[str]:
    """What models' words are like apart from any search."""
    found = results("words")
    changes = list(found[0]["agreement"])
    rows = [
        [
            row["model_id"], ", ".join(f"*{one}*" for one in row["unseen_genres"]) or "all, seen",
            f"{row['mean']['usage']:.0%}", f"{row['mean']['perplexity']:.0f}",
            *(f"{row['agreement'][change]:.0%}" for change in changes), f"{row['error_cm']:.1f} cm",
        ]
        for row in found
    ]  # fmt: skip
    title = f"The words themselves ({found[0]['clips']} clips, seed {found[0]['seed']})"
    table = markdown(title, ["model", "genres", "usage", "perplexity", *changes, "error"], rows)
    return [*table, source_line("words"), ""]


def strangers_table() -> list[str]:
    """Small catalogues of procedural dances."""
    rows = [
        [str(row["dances"]), f"{row['rank1']:.0%}", f"{row['mirror_right']:.0%}",
         *(f"{row[who][verdict]:.1%}" for who in ("known", "unknown") for verdict in row[who])]
        for row in results("strangers")
    ]  # fmt: skip
    headings = ["dances known", "rank 1", "mirror told rightly", "known: match", "known: possible match"]
    headings += ["unknown: match", "unknown: possible match"]
    queries = results("strangers")[0]["queries"]
    title = f"Small catalogues (procedural dances, {queries} known and {queries} unknown)"
    return [*markdown(title, headings, rows), source_line("strangers"), ""]


def pairs_table() -> list[str]:
    """What `compare` says of two clips."""
    rows = [
        [row["kind"], "one" if row["same"] else "two", f"{row['match']:.0%}", f"{row['possible match']:.0%}",
         f"{row['called_same']:.0%}", str(row["pairs"])]
        for row in results("pairs")
        if row["check"] == "compare"
    ]  # fmt: skip
    headings = ["clips", "dances", "match", "possible match", "called one dance", "pairs"]
    return [*markdown("Two clips, one dance or two: `compare`", headings, rows), source_line("pairs"), ""]


REAL_TITLES = {  # file: title
    "real-before": "Real clips, an earlier version: words alone, accepted at E ≤ 0.05",
    "real": "Real clips",
}


def calibration_table() -> list[str]:
    """How good the likelihood ratios are, by what they are made of."""
    headings = ["evidence", "pairs", "Cllr", "Cllr_min", "equal error rate", "largest of two dances (log10)"]
    rows = [
        [
            row["basis"], f"{row['part']}, {row['same']} same, {row['different']} different",
            f"{row['cllr']:.3f}", f"{row['cllr_min']:.3f}", f"{row['equal_error_rate']:.1%}",
            f"{row['largest_different']:.1f}",
        ]
        for row in results("calibration")
        if "basis" in row
    ]  # fmt: skip
    title = "Likelihood ratios (cross-validated: real clips by dance, AIST++ by genre)"
    return [
        *markdown(title, headings, rows),
        *people_table(),
        source_line("calibration"),
        "",
        "![Tippett and reliability plots](calibration-real.png)",
        "",
    ]


def people_table() -> list[str]:
    """Short motions by several people: by the calibration that never saw them, and in the fit."""
    headings = ["pairs", "share of short motions in the fit", "Cllr", "Cllr_min", "equal error rate"]
    headings += [f"different beyond {ratio}" for ratio in ("10", "100", "1,000")]
    rows = [
        [
            row["part"], "none, as shipped before" if "calibration" in row else f"{row['share']:.0%}",
            f"{row['cllr']:.3f}", f"{row['cllr_min']:.3f}", f"{row['equal_error_rate']:.1%}",
            *(f"{row['different_beyond'][str(n)] / 10**n:.2%}" for n in (1, 2, 3)),
        ]
        for row in results("calibration")
        if "basis" not in row
    ]  # fmt: skip
    return markdown("Short motions by several people, held out and in the fit", headings, rows)


def takes_table() -> list[str]:
    """One performance twice, one person twice, two people: what is called one performance."""
    headings = ["pairs", "number", "called one performance", "the same, cross-validated by dance"]
    headings += ["jitter, median (ms)", "correlation, median"]
    rows = [
        [
            row["kind"], str(row["pairs"]), f"{row['share']:.1%}", f"{row['share_cross_validated']:.1%}",
            *_medians(row["quantiles_if_long_enough"]),
        ]
        for row in results("takes")
        if row["check"] == "pairs"
    ]  # fmt: skip
    told = [
        f"One person or two, {row['source']} ({row['one']} and {row['two']} pairs): equal error rate "
        + ", ".join(f"{name.replace('_', ' ')} {rate:.0%}" for name, rate in row["equal_error_rates"].items())
        + "."
        for row in results("takes")
        if row["check"] == "one person or two"
    ]
    return [
        *markdown("One performance twice (`takes.py`)", headings, rows),
        *told,
        "",
        source_line("takes"),
        "",
    ]


def _medians(quantiles: Mapping[str, Sequence[float]]) -> list[str]:
    if not quantiles:
        return ["", ""]
    return [f"{1000 * quantiles['jitter'][2]:.0f}", f"{quantiles['correlation'][2]:.2f}"]


def real_tables() -> list[str]:
    """Clips as people post them, by people and game characters, and unknown dances."""
    return [line for name in REAL_TITLES if (RESULTS / f"{name}.jsonl").exists() for line in real_table(name)]


def real_table(name: str) -> list[str]:
    """One measurement of the suite real: known dances, unknown dances, where they come from."""
    found = [row for row in results(name) if row["line"] == "summary"]
    known = [
        [part, row["catalogue"], row["method"], *real_cells(row["parts"][part])]
        for part in ("people", "game characters")
        for row in found
    ]
    headings = ["query", "catalogue", "method", "rank 1", "right and accepted", "wrong and accepted"]
    headings += ["right at 1 %", "lag within 0.2 s"]
    lines = markdown(f"{REAL_TITLES[name]} (`real`)", headings, known)
    parts = ("unknown", "single", "no-dance")
    unknown = [
        [row["catalogue"], row["method"], *(counts(row["parts"][one], "wrong_accepted") for one in parts)]
        for row in found
    ]
    title = f"{REAL_TITLES[name]}, unknown dances accepted"
    lines += markdown(title, ["catalogue", "method", "all", "singles", "no dance"], unknown)
    return [*lines, source_line(name), ""]


def real_cells(part: dict) -> list[str]:
    """The figures of known dances: counts, and shares of the queries."""
    shares = ("rank1", "right_accepted", "wrong_accepted", "right_accepted_at_1_percent")
    truths = part["lag_truths"]
    lag = f"{round(part['lag_right'] * truths)} of {truths}" if truths else "-"
    return [*(counts(part, one) for one in shares), lag]


def counts(part: dict, name: str) -> str:
    """How many of how many searches."""
    return f"{round(part[name] * part['queries'])} of {part['queries']} ({part[name]:.0%})"


def twins_line() -> list[str]:
    """Choreographies that are nearly one dance."""
    found, asked = results("twins")
    return [
        f"**Twins**: of {found['pairs']} pairs of basic choreographies, {found['twins']} are, without any "
        f"words, as alike as two dancers' takes of one of them. Of {asked['queries']} clips whose own "
        f"choreography was taken out, {asked['accepted']} were a match with another, "
        f"{asked['accepted_as_a_twin']} of them with a twin, and {asked['possible']} a possible match "
        f"(of all, {asked['answered_with_a_twin']} have a twin as their first answer).",
        "",
        source_line("twins"),
        "",
    ]


def choices_table() -> list[str]:
    """How much the change within a patch counts."""
    found = results("choices")
    folds = list(found[0]["rank1"])
    rows = [
        [str(row["difference"]), *(f"{row['rank1'][fold]:.1%}" for fold in folds), f"{row['mean']:.1%}"]
        for row in found
    ]
    title = "Weight of the change within a patch (rank 1, genres never seen)"
    return markdown(title, ["weight", *folds, "mean"], rows)


def tables() -> str:
    """All tables and pictures, as Markdown."""
    lines = [line for suite in SUITES for line in suite_table(suite)]
    lines += [*scale_parts(), *leave_out_table(), *unseen_table(), *folds_table(), *likelihood_folds_table()]
    lines += ["![rank distribution](ranks.png) ![confusion between genres](confusion.png)", ""]
    lines += [*excerpt_table(), "![accuracy against excerpt length](length.png)", ""]
    lines += [*strength_table(), "![accuracy against strength of change](strength.png)", "", *video_table()]
    lines += benchmark_table()
    lines += real_tables()
    lines += calibration_table()
    lines += takes_table()
    lines += [*open_set_table(), "![accepted against the E-value](calibration.png)", ""]
    shown = f"{results('map')[0]['shown']:.0%} of the differences between clips lie in this plane."
    lines += ["![2-D map of the catalogue](map.png)", "", f"Stage one's likeness as a map: {shown}", ""]
    measured = (*FILES, "leave-out", "unseen", "excerpt", "excerpt-strength", "video", "open-set", "map")
    lines += [*map(source_line, measured), "", "## Further figures", ""]
    lines += network_table() + cells_line() + floor_unseen_table() + ablations_table() + words_table()
    lines += strangers_table() + pairs_table() + twins_line() + choices_table()
    return "\n".join(lines)


def main() -> None:
    """Put the tables behind the mark in the README."""
    page = HERE / "README.md"
    try:
        text = page.read_text(encoding="utf-8").split(MARK)[0] + MARK + "\n\n" + tables()
    except FileNotFoundError as error:
        sys.exit(f"{error.filename} is missing; 'make eval' measures it")
    if "--check" in sys.argv[1:]:
        if text != page.read_text(encoding="utf-8"):
            sys.exit("eval/README.md does not match eval/results; run python eval/tables.py")
        return
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
