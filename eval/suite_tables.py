"""Tables of the suites of `dancematch eval`."""

from collections.abc import Sequence

from result_files import RESULTS, format_count, format_share, format_table, read_results, source_line

from dancematch.search.confidence.verdict import MAX_EVALUE, POSSIBLE_EVALUE

TRUE = "-true"  # ends the name of a video result whose queries are the true skeletons

SUITES = {
    "aist-genre": "Same genre, the paper's protocol",
    "aist-choreography": "Same choreography, any other recording",
    "aist-cross-dancer": "Same choreography, another dancer",
    "scale": "A hundred dances, fifty performances each",
}
# Where the rows of these are, in order.
FILES = ("aist", "aist-likelihood", "floor", "scale", "scale-sample", "scale-dtw")
RANKING_HEADINGS = ("mean score", "match in 3 (95 %)", "rank 1 (95 %)", "mAP")
FOLDS = ("LH,PO", "KR,LO", "BR,JB,JS")  # of genres
PAPER = {  # what the paper prints, on ten genres and on its own videos: mean score, match in 3, rank 1
    "aist-genre": [
        ("*paper: histogram index, ten genres*", "0.487", "61.9%", "38.1%"),
        ("*paper: brute force, ten genres*", "0.509", "65.3%", "39.0%"),
    ],
    "scale": [("*paper, its own videos*", "≥ 0.5", "-", "> 40%")],
}
MEDLEY_FILES = ("medley-motions", "medley-skeletons", "medley-videos")
REAL_TITLES = {  # file: title
    "real-before": "Real clips, an earlier version: words alone, accepted at E ≤ 0.05",
    "real": "Real clips",
    "real-movement": "Real clips, channels of posture and of movement (not shipped)",
}


def suite_table(suite: str) -> list[str]:
    """One suite: chance, the paper, and one row per method."""
    found = [row for name in FILES for row in read_results(name) if row["suite"] == suite]
    rows = [["*chance*", "-", "-", f"{found[0]['chance']:.1%}", "-", "-"]]
    rows += [[*paper, "-", "-"] for paper in PAPER.get(suite, ())]
    rows += [[row["method"], *ranking_cells(row), str(row["queries"])] for row in found]
    return format_table(f"{SUITES[suite]}: `{suite}`", ["method", *RANKING_HEADINGS, "queries"], rows)


def ranking_cells(row: dict) -> list[str]:
    """The main figures of a ranking."""
    shares = format_share(row, "match_rate"), format_share(row, "rank1")
    return [f"{row['mean_score']:.3f}", *shares, f"{row['mean_average_precision']:.3f}"]


def scale_parts() -> list[str]:
    """Scale by how a query is related to the references."""
    rows = [
        [row["method"], part, f"{own['mean_score']:.3f}", f"{own['rank1']:.1%}", str(own["queries"])]
        for row in read_results("scale")
        for part, own in row["parts"].items()
    ]
    headings = ["method", "query", "mean score", "rank 1", "queries"]
    return format_table("Scale, by kind of query", headings, rows)


def leave_out_table() -> list[str]:
    """The same choreography with most of its recordings left out."""
    found = [*read_results("aist"), *read_results("leave-out")]
    rows = [
        [str(row["facts"]["leave_out"]), row["method"], format_share(row, "rank1"), f"{row['chance']:.2%}"]
        for row in found
        if row["suite"] == "aist-choreography" and row["method"] in ("stage1", "two-stage", "kmeans")
    ]
    title = "Leave K out (aist-choreography): of the query's recordings, K are left out, itself included"
    return format_table(title, ["K", "method", "rank 1 (95 %)", "chance"], rows)


def unseen_table() -> list[str]:
    """Genres that neither the network nor the floor has seen."""
    rows = [
        [row["suite"], row["method"], *ranking_cells(row), str(row["queries"])]
        for row in read_results("unseen")
    ]
    headings = ["suite", "method", *RANKING_HEADINGS, "queries"]
    return format_table("Genres never seen (LH, PO)", headings, rows)


def folds_table() -> list[str]:
    """Every genre never seen once: three networks, each trained without some."""
    files = ("unseen", "unseen-KR,LO", "unseen-BR,JB,JS")
    title = "Every genre never seen once (aist-cross-dancer, rank 1): a network trained without each group"
    note = "Choices were made on KR and LO, and looked at on BR, JB and JS; only LH and PO were held out."
    return [*pooled_folds(title, files), note, "", *map(source_line, files[1:]), ""]


def pooled_folds(title: str, files: Sequence[str]) -> list[str]:
    """Rank 1 of each method by fold, and of all queries together."""
    folds = [[row for row in read_results(name) if row["suite"] == "aist-cross-dancer"] for name in files]
    rows = []
    for same in zip(*folds, strict=True):
        queries = [row["queries"] for row in same]
        pooled = sum(row["rank1"] * count for row, count in zip(same, queries, strict=True)) / sum(queries)
        by_fold = [f"{row['rank1']:.1%}" for row in same]
        rows.append([same[0]["method"], *by_fold, f"{pooled:.1%}", str(sum(queries))])
    return format_table(
        title, ["method", *(fold.replace(",", ", ") for fold in FOLDS), "all", "queries"], rows
    )


def likelihood_folds_table() -> list[str]:
    """The same with the ranking by likelihood ratio, of other networks made in the same way."""
    files = [f"unseen-likelihood-{genres}" for genres in FOLDS]
    title = "Every genre never seen once, ranked by likelihood ratio (other networks, made in the same way)"
    return [*pooled_folds(title, files), *map(source_line, files), ""]


def movement_folds_table() -> list[str]:
    """Networks with channels of movement, which are not shipped."""
    files = [f"unseen-movement-{genres}" for genres in FOLDS]
    title = "Every genre never seen once, channels of posture and of movement (not shipped)"
    return [*pooled_folds(title, files), *map(source_line, files), "", *real_table("real-movement")]


def benchmark_table() -> list[str]:
    """A release of `dancematch benchmark`."""
    name = "benchmark-synthetic-medium"
    rows = [
        [row["method"], *ranking_cells(row), f"{row['chance']:.1%}", str(row["queries"])]
        for row in read_results(name)
    ]
    title = "DanceTypesBenchmark, synthetic edition (20 dances by 10 performers, rendered): `benchmark`"
    headings = ["method", *RANKING_HEADINGS, "chance", "queries"]
    return [*format_table(title, headings, rows), source_line(name), ""]


def excerpt_table() -> list[str]:
    """Excerpts by length: the clip, the dance, the place."""
    rows = [
        [f"{row['facts']['excerpt_seconds']:g} s", row["method"], format_share(row, "rank1"),
         format_share(row, "rank1_dance"), *(format_overlap(row, part) for part in ("basic", "advanced")),
         str(row["queries"])]
        for row in read_results("excerpt")
    ]  # fmt: skip
    headings = ["length", "method", "the clip first (95 %)", "the dance first (95 %)"]
    headings += ["overlap, basic", "overlap, advanced", "queries"]
    return format_table("Changed excerpts among all clips: `excerpt`", headings, rows)


def format_overlap(row: dict, part: str) -> str:
    """The overlap of excerpts of one kind of dance."""
    overlap = row["parts"].get(part, {}).get("temporal_iou")
    return "-" if overlap is None else f"{overlap:.2f}"


def strength_table() -> list[str]:
    """Excerpts by strength of the changes."""
    rows = read_results("excerpt-strength")
    strengths = sorted({row["facts"]["strength"] for row in rows})
    by_method: dict[str, dict[float, dict]] = {}
    for row in rows:
        by_method.setdefault(row["method"], {})[row["facts"]["strength"]] = row
    lines = [
        [method, *(format_share({**found[one], "intervals": {}}, "rank1_dance") for one in strengths)]
        for method, found in by_method.items()
    ]
    title = (
        f"Five seconds, changed more and more: the dance first ({rows[0]['queries']} queries per strength)"
    )
    return format_table(title, ["method", *(f"{one:g}" for one in strengths)], lines)


def video_table() -> list[str]:
    """A pose estimator's views of rendered clips."""
    rows = [
        [row["method"], format_share(row, "rank1"), format_share(row, "rank1_dance"), f"{row['chance']:.1%}",
         str(row["queries"])]
        for row in read_results("video")
    ]  # fmt: skip
    headings = ["method", "the clip first (95 %)", "the dance first (95 %)", "chance", "queries"]
    return format_table("Rendered video, genres seen: `video`", headings, rows)


def open_set_table() -> list[str]:
    """Which verdicts known and unknown dances get."""
    rows = [
        [row["query"], f"{row['rank1']:.1%}",
         *(format_accepted(row, kind) for kind in ("true_accepts", "false_accepts")),
         *(f"{row[kind][str(POSSIBLE_EVALUE)]:.1%}" for kind in ("true_accepts", "false_accepts")),
         format_share(row, "true_accepts_at_1_percent"), f"{row['queries']} / {row['unknown']}"]
        for row in read_results("open-set")
    ]  # fmt: skip
    headings = ["query", "rank 1", "known, right and a match (95 %)", "unknown, a match (95 %)"]
    headings += ["known, right and at least possible", "unknown, at least possible"]
    headings += ["known, right at 1 % of the unknown", "known / unknown"]
    title = f"Known or not (match: E ≤ {MAX_EVALUE:g}, possible match: E < {POSSIBLE_EVALUE:g}): `open-set`"
    return format_table(title, headings, rows)


def format_accepted(row: dict, kind: str) -> str:
    """The share that is a match, with its interval."""
    interval = row["intervals"][f"{kind}_{MAX_EVALUE}"]
    return format_share({"rate": row[kind][str(MAX_EVALUE)], "intervals": {"rate": interval}}, "rate")


def floor_unseen_table() -> list[str]:
    """The floor refitted without each fold of genres."""
    rows = [
        [fold, row["method"], *ranking_cells(row)[:3], str(row["queries"])]
        for fold in FOLDS
        for row in read_results(f"aist-cross-dancer-unseen-{fold}")
    ]
    title = "The floor on genres it was not fitted on (aist-cross-dancer)"
    return format_table(title, ["genres", "method", "mean score", "match in 3", "rank 1", "queries"], rows)


def network_table() -> list[str]:
    """Trained models, the floor and the methods without words: eval/results/network*.jsonl."""
    files = sorted(path.stem for path in RESULTS.glob("network*.jsonl"))
    rows = [network_row(row, true=name.endswith(TRUE)) for name in files for row in read_results(name)]
    headings = ["suite", "query genres", "method", "mean score", "match in 3", "rank 1", "queries"]
    return [*format_table("The network against the floor", headings, rows), *map(source_line, files), ""]


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


def medley_tables() -> list[str]:
    """Which dance when: programmes by what is scanned, and by who dances the known dances."""
    files = [name for name in MEDLEY_FILES if (RESULTS / f"{name}.jsonl").exists()]
    found = [row for name in files for row in read_results(name) if row["line"] == "summary"]
    if not found:
        return []
    headings = ["scanned", "known dances", "segments named", "F1 (95 %)", "precision", "recall"]
    headings += ["boundary error", "wrong", "of which overrun", "programmes"]
    rows = [
        [row["source"], row["part"], label, *medley_cells(row[verdict]), str(row["programmes"])]
        for row in found
        for verdict, label in (("match", "matches"), ("possible", "and possible matches"))
    ]
    lines = format_table("Which dance when, in programmes of ten minutes: `medley`", headings, rows)
    headings = [
        "scanned",
        "known dances",
        "time per second",
        "CPU time per second",
        "in searches",
        "peak memory",
    ]
    rows = [[row["source"], row["part"], *cost_cells(row["cost"])] for row in found]
    lines += format_table("What the scans took", headings, rows)
    rows = [
        [row["source"], row["part"], change, f"{right} of {count} ({right / count:.0%})"]
        for row in found
        for change, (right, count) in row["match"]["recall_by_change"].items()
    ]
    lines += format_table("Segments found, by change", ["scanned", "known dances", "change", "found"], rows)
    return [*lines, *map(source_line, files), ""]


def medley_cells(figures: dict) -> list[str]:
    """The figures of segments with some verdicts."""
    low, high = figures["f1_interval"]
    shares = (figures["precision"], figures["recall"])
    error = figures["boundary_error"]
    return [
        f"{figures['f1']:.3f} ({low:.2f} to {high:.2f})",
        *("-" if share is None else f"{share:.1%}" for share in shares),
        "-" if error is None else f"{error:.2f} s",
        f"{figures['wrong_per_hour']:.0f} s per hour",
        f"{figures['overrun_per_hour']:.0f} s per hour",
    ]


def cost_cells(cost: dict) -> list[str]:
    """Time, share of searches and memory."""
    peak = cost["peak_megabytes"]
    return [
        f"{cost['realtime_factor']:.3f} s", f"{cost['cpu_factor']:.3f} s", f"{cost['search_share']:.0%}",
        "-" if peak is None else f"{peak:.0f} MB",
    ]  # fmt: skip


def real_tables() -> list[str]:
    """Clips as people post them, by people and game characters, and unknown dances."""
    shown = [name for name in REAL_TITLES if name != "real-movement" and (RESULTS / f"{name}.jsonl").exists()]
    return [line for name in shown for line in real_table(name)]


def real_table(name: str) -> list[str]:
    """One measurement of the suite real: known dances, unknown dances, where they come from."""
    found = [row for row in read_results(name) if row["line"] == "summary"]
    known = [
        [part, row["catalogue"], row["method"], *real_cells(row["parts"][part])]
        for part in ("people", "game characters")
        for row in found
    ]
    headings = ["query", "catalogue", "method", "rank 1", "right and accepted", "wrong and accepted"]
    headings += ["right at 1 %", "lag within 0.2 s"]
    lines = format_table(f"{REAL_TITLES[name]} (`real`)", headings, known)
    parts = ("unknown", "single", "no-dance")
    unknown = [
        [
            row["catalogue"],
            row["method"],
            *(format_count(row["parts"][one], "wrong_accepted") for one in parts),
        ]
        for row in found
    ]
    title = f"{REAL_TITLES[name]}, unknown dances accepted"
    lines += format_table(title, ["catalogue", "method", "all", "singles", "no dance"], unknown)
    return [*lines, source_line(name), ""]


def real_cells(part: dict) -> list[str]:
    """The figures of known dances: counts, and shares of the queries."""
    shares = ("rank1", "right_accepted", "wrong_accepted", "right_accepted_at_1_percent")
    truths = part["lag_truths"]
    lag = f"{round(part['lag_right'] * truths)} of {truths}" if truths else "-"
    return [*(format_count(part, one) for one in shares), lag]
