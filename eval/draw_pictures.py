"""Draw eval/README.md's pictures from eval/results.

python eval/draw_pictures.py
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from result_files import read_results

from dancematch.search.confidence.verdict import MAX_EVALUE, POSSIBLE_EVALUE

PICTURES = Path(__file__).parent / "pictures"
METHODS = ("stage1", "two-stage", "likelihood", "kmeans", "dtw")
COLOURS = dict(zip(METHODS, ("tab:blue", "tab:red", "tab:purple", "tab:green", "tab:grey"), strict=True))


def save(name: str) -> None:
    """Write the current figure."""
    plt.savefig(PICTURES / f"{name}.png", dpi=90, bbox_inches="tight")
    plt.close()


def draw_ranks() -> None:
    """Where the first right answer stands, suite by suite."""
    suites = ("aist-genre", "aist-choreography", "aist-cross-dancer", "scale")
    rows = [row for name in ("aist", "aist-likelihood", "scale") for row in read_results(name)]
    _, axes = plt.subplots(2, 2, figsize=(8, 5.4), sharex=True, sharey=True)
    for suite, place in zip(suites, axes.flat, strict=True):
        shown = [row for row in rows if row["suite"] == suite and row["method"] in METHODS]
        shown.sort(key=lambda row: METHODS.index(row["method"]))
        for number, row in enumerate(shown):
            shares = row["rank_distribution"]
            at = np.arange(len(shares)) + (number - (len(shown) - 1) / 2) * 0.8 / len(shown)
            label, colour = row["method"], COLOURS[row["method"]]
            place.bar(at, list(shares.values()), 0.8 / len(shown), label=label, color=colour)
            place.set_xticks(range(len(shares)), [*list(shares)[:-1], ">10"])
        place.set(title=suite, yscale="log", ylim=(8e-4, 1.2))
    axes[0, 1].legend(frameon=False, fontsize=8)  # where all methods were asked
    for place in axes[:, 0]:
        place.set_ylabel("share of queries (log)")
    for place in axes[1]:
        place.set_xlabel("rank of the first right answer")
    save("ranks")


def draw_confusion() -> None:
    """Which genre the first answer is of."""
    (row,) = [r for r in read_results("aist") if (r["suite"], r["method"]) == ("aist-genre", "two-stage")]
    genres = sorted(row["confusion"])
    shares = np.array([[row["confusion"][asked].get(said, 0.0) for said in genres] for asked in genres])
    _, axes = plt.subplots(figsize=(4.4, 4.0))
    axes.imshow(np.sqrt(shares), cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(len(genres)), genres)
    axes.set_yticks(range(len(genres)), genres)
    axes.set(
        xlabel="genre of the first answer", ylabel="genre of the query", title="aist-genre: first answers, %"
    )
    for (y, x), value in np.ndenumerate(shares):
        if value >= 0.0005:
            colour = "white" if value > 0.4 else "black"
            axes.text(x, y, f"{100 * value:.1f}", ha="center", va="center", fontsize=8, color=colour)
    save("confusion")


def draw_curve(name: str, fact: str, label: str) -> None:
    """The share found against one fact of the excerpts, with 95 % intervals."""
    rows = read_results(name)
    _, both = plt.subplots(1, 2, figsize=(8, 3.4), sharey=True)
    for axes, figure, title in zip(
        both, ("rank1_dance", "rank1"), ("the dance first", "the very clip first"), strict=True
    ):
        for method in dict.fromkeys(row["method"] for row in rows):
            draw_band(axes, [row for row in rows if row["method"] == method], figure, fact)
        axes.set(title=title, xlabel=label)
        axes.grid(alpha=0.3)
    least = min(row["intervals"]["rank1"][0] for row in rows)
    both[0].set(ylabel="share of queries", ylim=(max(0, np.floor(10 * least) / 10 - 0.1), 1.02))
    both[1].legend(frameon=False)
    save({"excerpt": "length", "excerpt-strength": "strength"}[name])


def draw_band(axes: Axes, rows: list[dict], figure: str, fact: str) -> None:
    """One method's line with its interval."""
    ordered = sorted(rows, key=lambda row: row["facts"][fact])
    at = [row["facts"][fact] for row in ordered]
    low, high = zip(*(row["intervals"][figure] for row in ordered), strict=True)
    method = ordered[0]["method"]
    axes.plot(at, [row[figure] for row in ordered], "o-", label=method, color=COLOURS[method])
    axes.fill_between(at, low, high, alpha=0.15, color=COLOURS[method])


def draw_calibration() -> None:
    """Shares accepted against the limit of the E-value."""
    _, both = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
    rows = read_results("open-set")
    apart = [row for row in rows if row["query"] in ("excerpt", "video")]
    near = [row for row in rows if row["query"] in ("another dancer", "several recordings")]
    for axes, own, title in zip(both, (apart, near), ("other motions", "other basic dances"), strict=True):
        for row, colour in zip(own, ("tab:red", "tab:blue"), strict=False):
            limits = row["curve"]["limits"]
            axes.plot(limits, row["curve"]["true_accepts"], color=colour, label=f"{row['query']}: known")
            if row is own[0] or row in near:
                axes.plot(limits, row["curve"]["false_accepts"], "--", color=colour, label="unknown")
        axes.axvline(MAX_EVALUE, color="grey", linestyle=":", label="limit of a match")
        axes.axvline(POSSIBLE_EVALUE, color="grey", linestyle="-.", label="limit of a possible match")
        axes.set(xscale="log", xlabel="limit of the E-value", title=f"unknown dances are {title}")
        axes.legend(frameon=False, fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)
    both[0].set(ylabel="share at or below the limit", ylim=(-0.02, 1.02))
    save("calibration")


def draw_map() -> None:
    """The map of the clips."""
    (found,) = read_results("map")
    _, axes = plt.subplots(figsize=(6.4, 5.2))
    for number, (genre, kinds) in enumerate(sorted(found["places"].items())):
        for kind, places in kinds.items():
            x, y = np.array(places).T
            marker, colour = ("o" if kind == "basic" else "^"), plt.get_cmap("tab10")(number)
            axes.scatter(x, y, 9, color=colour, marker=marker, alpha=0.6, linewidths=0,
                         label=genre if kind == "basic" else None)  # fmt: skip
    axes.set(xticks=[], yticks=[], aspect="equal")
    axes.set_title("dots: basic clips, triangles: advanced ones", fontsize=10)
    axes.legend(frameon=False, fontsize=8, markerscale=2)
    save("map")


def draw_verdicts() -> None:
    """What becomes of a clip: the README's chart."""
    rows = verdict_rows()
    _, axes = plt.subplots(figsize=(8, 2.6))
    begin = np.zeros(len(rows))
    kinds = (
        ("match, right", "#2a7f4f"),
        ("possible match", "#d9a441"),
        ("no match", "#c9ced6"),
        ("match, wrong", "#b3312c"),
    )
    for kind, (label, colour) in enumerate(kinds):
        shares = 100 * np.array([row[1][kind] for row in rows])
        axes.barh(range(len(rows)), shares, left=begin, color=colour, label=label)
        begin += shares
    axes.set_yticks(range(len(rows)), [row[0] for row in rows])
    axes.invert_yaxis()
    axes.set(xlim=(0, 100), xlabel="% of the clips")
    axes.legend(frameon=False, ncols=4, fontsize=8, loc="lower center", bbox_to_anchor=(0.4, 1.0))
    save("verdicts")


def verdict_rows() -> list[tuple[str, tuple[float, float, float, float]]]:
    """Of each kind of clip, the shares of match and possible match (both right), none, and a wrong match."""
    (real,) = [
        row["parts"]
        for row in read_results("real-poses-20-10")
        if row.get("line") == "summary"
        and (row["method"], row["catalogue"]) == ("both", "all clips and distractors")
    ]
    made = {row["query"]: row for row in read_results("open-set") if row["method"] == "likelihood"}
    names = {
        "people": "the dance by another person",
        "game characters": "game characters",
        "excerpt": "changed excerpts of motion capture",
        "video": "six seconds of rendered video",
    }
    rows = []
    for name, label in names.items():
        if name in real:
            found, count = real[name], f"{real[name]['queries']} clips"
            sure, perhaps, wrong = (
                found[key] for key in ("right_accepted", "right_possible", "wrong_accepted")
            )
        else:
            limits = made[name]["true_accepts"]
            sure, perhaps, wrong = limits[f"{MAX_EVALUE:g}"], limits["1.0"] - limits[f"{MAX_EVALUE:g}"], 0.0
            count = f"{made[name]['queries']} clips"
        rows.append((f"{label} ({count})", (sure, perhaps, 1 - sure - perhaps - wrong, wrong)))
    unknown = real["unknown"]
    perhaps, wrong = unknown["wrong_possible"], unknown["wrong_accepted"]
    rows.append(
        (
            f"dances that are not known ({unknown['queries']} clips)",
            (0.0, perhaps, 1 - perhaps - wrong, wrong),
        )
    )
    return rows


def main() -> None:
    """Draw all of them."""
    draw_ranks()
    draw_confusion()
    draw_curve("excerpt", "excerpt_seconds", "seconds of the excerpt")
    draw_curve("excerpt-strength", "strength", "strength of the changes (1 = usual)")
    draw_calibration()
    draw_map()
    draw_verdicts()


if __name__ == "__main__":
    main()
