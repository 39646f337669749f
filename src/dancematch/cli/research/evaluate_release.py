"""The suite `benchmark` of `dancematch eval`: a release that `dancematch benchmark` wrote."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dancematch.cli.output import counted, say
from dancematch.errors import InputError

if TYPE_CHECKING:
    from dancematch.benchmark.release import Release
    from dancematch.evaluation.methods.word_comparison import WordMethod
    from dancematch.evaluation.suites.benchmark import BenchmarkSuite
    from dancematch.evaluation.suites.retrieval import RetrievalResult


def evaluate_release(folder: Path, methods: "Sequence[str | WordMethod]") -> "Iterator[RetrievalResult]":
    """What each method reaches on a release; every file is checked against its checksum first."""
    from dancematch.benchmark.release import read_release

    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; one that 'dancematch benchmark' wrote was expected")
    say(f"reading {folder}")
    asked = _questions(read_release(folder))
    if asked.unanswerable:
        say(f"{asked.unanswerable} clips are not asked for: no other performer dances what they show")
    for method in methods:
        yield asked.evaluate(method, track=counted)


def _questions(release: "Release") -> "BenchmarkSuite":
    """The clips of a release as questions; rendered ones are told apart by who else is in the frame."""
    from dancematch.evaluation.suites.benchmark import BenchmarkSuite, LabelledClip

    return BenchmarkSuite(
        [
            LabelledClip(
                entry.label_id, entry.performer, entry.split, tuple(release.motions(entry)),
                kind=str((entry.conditions or {}).get("company", "")),
            )
            for entry in counted(release.entries, "reading")
        ]
    )  # fmt: skip
