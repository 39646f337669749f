"""The suite `real` of `dancematch eval`: clips as people post them, laid out with an index.csv."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dancematch.cli.output import counted, emit_table, say, share_bar

if TYPE_CHECKING:
    from dancematch.evaluation.methods.recogniser import RecognitionMethod
    from dancematch.evaluation.real.figures import PartFigures
    from dancematch.evaluation.real.suite import QueryLine, RealResult

METHODS = ("words", "synchrony", "both", "dtw-angles")


def evaluate_real(
    folder: Path,
    methods: "Sequence[RecognitionMethod]",
    *,
    distractors: Path | None,
    skeletons: Path | None,
    seed: int,
    jobs: int,
) -> "Iterator[QueryLine | RealResult]":
    """What each method reaches on a folder's clips; they are estimated once and kept."""
    from dancematch.evaluation.real.clip_index import read_index
    from dancematch.evaluation.real.clip_skeletons import load_distractors, load_recordings
    from dancematch.evaluation.real.suite import RealSuite

    clips = read_index(folder)
    say(f"reading {folder}: {len(clips)} clips")
    with share_bar("estimating skeletons") as tell:
        recordings = load_recordings(folder, clips, skeletons, jobs=jobs, on_progress=tell)
    empty = [one.recording_id for one in recordings if not one.motions]
    if empty:
        say(f"no dancer is seen in {', '.join(empty)}")
    others = load_distractors(distractors) if distractors else []
    suite = RealSuite(clips, recordings, others, seed=seed)
    for method in methods:
        yield from suite.evaluate(method, counted)


def choose_methods(names: Sequence[str], models: Sequence[str]) -> "list[RecognitionMethod]":
    """The methods by their names, all if none is named; those with words once per model if any is named."""
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise click.UsageError(f"the suite real has no method {unknown[0]!r}; it has {', '.join(METHODS)}")
    if models and set(names) == {"dtw-angles"}:
        raise click.UsageError("--model is for words, synchrony and both; dtw-angles has none")
    from dancematch.evaluation.methods.angle_warping import AngleMethod
    from dancematch.evaluation.methods.search_recogniser import SearchMethod

    made: Mapping[str, Callable[[], list[RecognitionMethod]]] = {
        "words": lambda: [SearchMethod("words", model) for model in models or (None,)],
        "synchrony": lambda: [SearchMethod("synchrony", model) for model in models or (None,)],
        "both": lambda: [SearchMethod("both", model) for model in models or (None,)],
        "dtw-angles": lambda: [AngleMethod()],
    }
    return [method for name in dict.fromkeys(names or METHODS) for method in made[name]()]


def emit_real_tables(results: "Sequence[QueryLine | RealResult]") -> None:
    """The figures of known dances, people and game characters apart, and of unknown ones."""
    from dancematch.evaluation.real.suite import RealResult

    summaries = [one for one in results if isinstance(one, RealResult)]
    headings = ["query", "catalogue", "method", "rank 1", "right and accepted", "wrong and accepted"]
    emit_table([*headings, "right at 1 %", "lag within 0.2 s"], [
        [
            part, one.catalogue, one.method, *_known_cells(one.parts[part]),
        ]
        for part in ("people", "game characters")
        for one in summaries
        if part in one.parts
    ])  # fmt: skip
    emit_table(["query", "catalogue", "method", "accepted", "singles", "no dance"], [
        [
            "unknown", one.catalogue, one.method,
            *(_count(one.parts.get(part), "wrong_accepted") for part in ("unknown", "single", "no-dance")),
        ]
        for one in summaries
        if "unknown" in one.parts
    ])  # fmt: skip


def _known_cells(figures: "PartFigures") -> list[str]:
    shares = ("rank1", "right_accepted", "wrong_accepted", "right_accepted_at_1_percent")
    right, truths = figures.lag_right, figures.lag_truths
    lag = "-" if right is None else f"{round(right * truths)} of {truths}"
    return [*(_count(figures, name) for name in shares), lag]


def _count(figures: "PartFigures | None", name: str) -> str:
    if figures is None:
        return "-"
    share = getattr(figures, name)
    return f"{round(share * figures.queries)} of {figures.queries} ({share:.0%})"
