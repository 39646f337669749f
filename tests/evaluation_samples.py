"""AIST++ in small, as names and clips of procedural dances; and the scripts of eval/."""

import runpy
import sys
from pathlib import Path
from typing import Any

from dance_samples import dance
from dancematch.evaluation.methods.word_methods import WordMethod
from dancematch.evaluation.suites.aist import AistClip
from dancematch.evaluation.suites.retrieval import EvaluationCache, Evaluator, RetrievalResult
from dancematch.evaluation.suites.retrieval_tasks import RetrievalTask
from dancematch.formats.motion_capture.aist_names import AistName

EVAL = Path(__file__).parents[1] / "eval"


def aist_name(
    dancer: int = 1, number: int = 1, *, music: int = 0, genre: str = "BR", kind: str = "BM"
) -> AistName:
    """The name of a sequence: a dancer, and the number of a choreography."""
    return AistName(genre, kind, f"{dancer:02}", f"{genre}{music}", f"{number:02}")


def aist_clips(dances: int, dancers: int, eight_counts: int = 2, *, genre: str = "BR") -> list[AistClip]:
    """Every dance by every dancer."""
    return [
        AistClip(aist_name(dancer, number, genre=genre), dance(number, dancer, eight_counts))
        for number in range(dances)
        for dancer in range(dancers)
    ]


def evaluate(task: RetrievalTask, method: str | WordMethod) -> RetrievalResult:
    """The figures of one method on one task, by itself."""
    return Evaluator(EvaluationCache()).evaluate(task, method)


def load_script(name: str) -> dict[str, Any]:
    """The functions of a script of eval/, which imports its neighbours."""
    path = EVAL / name
    sys.path.insert(0, str(path.parent))
    try:
        return runpy.run_path(str(path))
    finally:
        sys.path.remove(str(path.parent))
