"""Tables of the studies: calibration, words, pairs, and what single choices are worth."""

from collections.abc import Mapping, Sequence
from typing import Any

from result_files import format_share, format_table, read_results, source_line


def ablations_table() -> list[str]:
    """What each choice of the network is worth."""
    rows = [
        [row["choice"], f"{row['mean_score']:.3f}", f"{row['match_rate']:.1%}", f"{row['rank1']:.1%}"]
        for row in read_results("ablations")
    ]
    title = "Choices of the network (rank 1, another dancer, KR and LO never seen; 80 steps each)"
    table = format_table(title, ["choice", "mean score", "match in 3", "rank 1"], rows)
    return [*table, source_line("ablations"), ""]


def word_quality_table() -> list[str]:
    """Quality of models' words, apart from any search."""
    found = read_results("words")
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
    table = format_table(title, ["model", "genres", "usage", "perplexity", *changes, "error"], rows)
    return [*table, source_line("words"), ""]


def small_catalogues_table() -> list[str]:
    """Small catalogues of procedural dances."""
    rows = [
        [str(row["dances"]), f"{row['rank1']:.0%}", f"{row['mirror_right']:.0%}",
         *(f"{row[kind][verdict]:.1%}" for kind in ("known", "unknown") for verdict in row[kind])]
        for row in read_results("small-catalogues")
    ]  # fmt: skip
    headings = ["dances known", "rank 1", "mirrored or not, right", "known: match", "known: possible match"]
    headings += ["unknown: match", "unknown: possible match"]
    queries = read_results("small-catalogues")[0]["queries"]
    title = f"Small catalogues (procedural dances, {queries} known and {queries} unknown)"
    return [*format_table(title, headings, rows), source_line("small-catalogues"), ""]


def pooling_tables() -> list[str]:
    """What a dance gains from several recordings, by the rule that pools their ratios."""
    names = ("rank1", "right_and_match", "unknown_accepted")
    titles = {
        "pooling": "Several recordings of a dance, by other dancers (70 basic dances of AIST++)",
        "pooling-real": "Several recordings of a dance (real clips, all but the own performance)",
    }
    lines = list[str]()
    for file, title in titles.items():
        rows = [
            [row["part"], str(row["recordings"]), row["rule"], *(format_share(row, name) for name in names),
             format_share(row, "right_at_1_percent"), str(row.get("cllr", "-")),
             f"{row['queries']} / {row['unknown']}"]
            for row in read_results(file)
            # With one recording all rules are the same; "all dances" are people and game characters.
            if (row["recordings"] != 1 or row["rule"] == "maximum")
            and row["part"] not in ("people", "game characters")
        ]  # fmt: skip
        headings = ["queries", "recordings per dance", "rule", "rank 1", "right and match"]
        headings += ["own dance left out: match", "right at 1 %", "Cllr", "known / unknown"]
        lines += [*format_table(title, headings, rows), source_line(file), ""]
    return lines


def compare_pairs_table() -> list[str]:
    """The verdicts of `compare` on two clips."""
    rows = [
        [row["kind"], "one" if row["same"] else "two", f"{row['match']:.0%}", f"{row['possible match']:.0%}",
         f"{row['called_same']:.0%}", str(row["pairs"])]
        for row in read_results("pairs")
        if row["check"] == "compare"
    ]  # fmt: skip
    headings = ["clips", "dances", "match", "possible match", "called one dance", "pairs"]
    return [*format_table("Two clips, one dance or two: `compare`", headings, rows), source_line("pairs"), ""]


def diff_table() -> list[str]:
    """What became of each unit of a choreography, by the diff as it was and as it is."""
    before = {(row["pairs_of"], row["edit"]): row for row in read_results("diff-before")}
    rows = [
        [row["pairs_of"], row["edit"], *(_format_units(one) for one in (before[key], row)),
         str(row["others_called"].get("hardly seen", 0))]
        for row in read_results("diff")
        if (key := (row["pairs_of"], row["edit"])) in before
    ]  # fmt: skip
    headings = ["pairs", "edit of the clip", "before: edited units right; others kept or changed"]
    headings += ["now: edited units right; others kept or changed", "others hardly seen"]
    title = "The diff: units of four counts that are called what they are (`diff.py`)"
    return [
        *format_table(title, headings, rows),
        *(_describe_advice(file, label) for file, label in (("diff-before", "Before"), ("diff", "Now"))),
        "",
        source_line("diff-before"),
        source_line("diff"),
        "",
    ]


def _format_units(row: Mapping[str, Any]) -> str:
    edited = f"{row['edited_right']} of {row['edited']}; " if row["edited"] else ""
    return f"{edited}{row['others_right']} of {row['others']}"


_TOLD = ("removed", "swapped", "mirrored", "arms exchanged", "legs exchanged", "waits at first")
_UNTOLD = ("limbs unseen", "starts later", "ends earlier")


def _describe_advice(file: str, label: str) -> str:
    """How often practice follows the diff, where a unit was danced otherwise and where it is only unseen."""
    told, untold = ([row for row in read_results(file) if row["edit"] in edits] for edits in (_TOLD, _UNTOLD))
    lessons, first, advice, kept = (
        sum(row[name] for row in told) for name in ("lessons", "practice_first", "advice", "advice_kept")
    )
    unseen, details = (sum(row[name] for row in untold) for name in ("advice", "advice_kept"))
    return (
        f"{label}: of {lessons} lessons on clips with a unit removed, swapped, mirrored, exchanged or waited "
        f"through, {first} name it first in what to practise; {kept} of their {advice} sentences are about "
        f"limbs in units that are kept. On clips of which a part is unseen or cut off at an end, {details} "
        f"of {unseen} are.  "
    )


def calibration_table() -> list[str]:
    """How good the likelihood ratios are, by what they are made of."""
    headings = ["evidence", "pairs", "Cllr", "Cllr_min", "equal error rate", "largest of two dances (log10)"]
    rows = [
        [
            row["basis"], f"{row['part']}, {row['same']} same, {row['different']} different",
            f"{row['cllr']:.3f}", f"{row['cllr_min']:.3f}", f"{row['equal_error_rate']:.1%}",
            f"{row['largest_different']:.1f}",
        ]
        for row in read_results("calibration")
        if "basis" in row
    ]  # fmt: skip
    title = "Likelihood ratios (cross-validated: real clips by dance, AIST++ by genre)"
    return [
        *format_table(title, headings, rows),
        *people_table(),
        source_line("calibration"),
        "",
        "![Tippett and reliability plots](pictures/calibration-real.png)",
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
        for row in read_results("calibration")
        if "basis" not in row
    ]  # fmt: skip
    return format_table("Short motions by several people, held out and in the fit", headings, rows)


def same_performance_table() -> list[str]:
    """One performance twice, one person twice, two people: what is called one performance."""
    headings = ["pairs", "number", "called one performance", "the same, cross-validated by dance"]
    headings += ["jitter, median (ms)", "correlation, median"]
    rows = [
        [
            row["kind"], str(row["pairs"]), f"{row['share']:.1%}", f"{row['share_cross_validated']:.1%}",
            *_format_medians(row["quantiles_if_long_enough"]),
        ]
        for row in read_results("same-performance")
        if row["check"] == "pairs"
    ]  # fmt: skip
    persons = [
        f"One person or two, {row['source']} ({row['one']} and {row['two']} pairs): equal error rate "
        + ", ".join(f"{name.replace('_', ' ')} {rate:.0%}" for name, rate in row["equal_error_rates"].items())
        + "."
        for row in read_results("same-performance")
        if row["check"] == "one person or two"
    ]
    return [
        *format_table("One performance twice (`same_performance.py`)", headings, rows),
        *persons,
        "",
        source_line("same-performance"),
        "",
    ]


def _format_medians(quantiles: Mapping[str, Sequence[float]]) -> list[str]:
    if not quantiles:
        return ["", ""]
    return [f"{1000 * quantiles['jitter'][2]:.0f}", f"{quantiles['correlation'][2]:.2f}"]


def tempo_tables() -> list[str]:
    """How often a tempo is told by movement and is right, and whether two clips' music agrees."""
    movement, music = read_results("tempo")
    used = f"{movement['limit']:g}"
    parts = [
        *((f"confidence from {limit}", row) for limit, row in movement["by_limit"].items()),
        *((f"{genre}, confidence from {used}", row) for genre, row in movement["by_genre"].items()),
    ]
    rows = [
        [name, f"{row['counted']} of {row['sequences']}", f"{row['right']} ({row['share_right']:.0%})"]
        for name, row in parts
    ]
    title = (
        f"Tempo by movement (AIST++, seed {movement['seed']}; counts are told from {used}; right: within 4 % "
    )
    title += "up to a factor of two)"
    return [
        *format_table(title, ["sequences", "tempo told", "right of those"], rows),
        f"**Tempo by music**: told of {music['counted']} of {music['clips']} real clips, "
        f"{music['no_sound']} of which have no sound. Of {music['pairs']} pairs to one song "
        f"{music['same_tempo']} have one tempo, of {music['pairs_with_lag']} whose lag is known "
        f"{music['same_beat']} have one beat. The limit was "
        "chosen on these clips.",
        "",
        source_line("tempo"),
        "",
    ]


def twins_line() -> list[str]:
    """Choreographies that are nearly one dance."""
    found, asked = read_results("twins")
    return [
        f"**Twins**: of {found['pairs']} pairs of basic choreographies, {found['twins']} are, without any "
        f"words, as similar as two dancers' recordings of one of them. Of {asked['queries']} clips whose own "
        f"choreography was taken out, {asked['accepted']} were a match with another, "
        f"{asked['accepted_as_a_twin']} of them with a twin, and {asked['possible']} a possible match "
        f"(of all, {asked['answered_with_a_twin']} have a twin as their first answer).",
        "",
        source_line("twins"),
        "",
    ]


def patch_difference_table() -> list[str]:
    """How much the change within a patch counts."""
    found = read_results("patch-difference-weight")
    folds = list(found[0]["rank1"])
    rows = [
        [str(row["difference"]), *(f"{row['rank1'][fold]:.1%}" for fold in folds), f"{row['mean']:.1%}"]
        for row in found
    ]
    title = "Weight of the change within a patch (rank 1, genres never seen)"
    return format_table(title, ["weight", *folds, "mean"], rows)


def misses_by_dancer_line() -> list[str]:
    """Whose versions of a choreography are missed."""
    return [
        f"**Whose misses** ({', '.join(row['query_genres'])}, {row['model_id']}): {row['misses']} of "
        f"{row['queries']} queries miss at rank 1; {row['cells_without_a_miss']} of the {row['cells']} "
        f"versions (one dancer's recordings of one choreography) have no miss, a tenth of them has "
        f"{row['share_of_misses_in_a_tenth_of_the_cells']:.0%} of all misses, and in "
        f"{row['cells_all_missed']} every recording misses."
        for row in read_results("misses-by-dancer")
    ] + [""]


def camera_angles_table() -> list[str]:
    """Dancers who are filmed from the side or from behind, by length of the clip."""
    lines = []
    for name in ("camera-angles", "camera-angles-10s"):
        found = read_results(name)
        rows = [
            [
                f"{row['degrees']:.0f}°", str(row["queries"]), f"{row['as_filmed']['rank1']:.0%}",
                f"{row['as_filmed']['right match']:.0%}", f"{row['searched']['rank1']:.0%}",
                f"{row['searched']['right match']:.0%}", f"{row['searched']['right possible match']:.0%}",
                f"{row['searched']['wrong match'] + row['searched']['wrong possible match']:.0%}",
                f"{row['unknown']['match']:.0%}, {row['unknown']['possible match']:.0%}",
            ]
            for row in found
        ]  # fmt: skip
        headings = ["angle", "clips", "as filmed: rank 1", "as filmed: match", "rank 1", "match"]
        headings += ["possible match", "wrong, accepted", "unknown: match, possible"]
        seconds = "ten" if name.endswith("10s") else "six"
        title = f"Camera angles (rendered mannequins of {seconds} seconds, among all of AIST++; genres seen)"
        lines += [*format_table(title, headings, rows), source_line(name), ""]
    return lines


def learning_curve_table() -> list[str]:
    """The paper's network as far as it was trained."""
    rows = [
        [
            f"{row['step']:,}", f"{row['seconds'] / 60:.0f} min", f"{row['held_out_reconstruction']:.4f}",
            f"{row['usage']:.0%}", f"{row['perplexity']:.0f}", f"{row['rank1']:.1%}", str(row["queries"]),
        ]
        for row in read_results("paper-curve")
    ]  # fmt: skip
    title = (
        "The paper's network and recipe, trained longer (another dancer, LH and PO never seen, by histogram)"
    )
    headings = ["steps", "trained", "reconstruction, held out", "usage", "perplexity", "rank 1", "queries"]
    return [*format_table(title, headings, rows), source_line("paper-curve"), ""]


def real_folds_table() -> list[str]:
    """What words gain by learning from real clips."""
    found = [row for row in read_results("real-folds") if row["line"] == "summary"]
    rows = [
        [
            row["learnt"], row["method"], row["part"],
            *(f"{row[name]:.0f} of {row['queries']}" for name in ("first", "match", "wrong")),
            f"{row['log_ratios']:.1f}",
        ]
        for row in found
    ]  # fmt: skip
    title = "Words that learnt from real clips too, cross-validated by dance (among all clips)"
    headings = [
        "learnt from",
        "method",
        "query",
        "first",
        "a match",
        "wrong, accepted",
        "sum of log10 ratios",
    ]
    return [*format_table(title, headings, rows), source_line("real-folds"), ""]


def word_features_table() -> list[str]:
    """What words should describe, and which pairs they should learn from."""
    found = read_results("word-features")
    asked = list(found[0]["answers"])
    rows = [
        [
            row["features"], ", ".join(row["pairs"]),
            *(_format_rank1(row["answers"][one]) for one in asked),
        ]
        for row in found
    ]  # fmt: skip
    title = "Features and training pairs of words (rank 1 by histogram, no network; KR and LO never seen)"
    return [*format_table(title, ["features", "pairs", *asked], rows), source_line("word-features"), ""]


def _format_rank1(answers: Mapping[str, int]) -> str:
    return f"{answers['right'] / answers['queries']:.1%} of {answers['queries']}"
