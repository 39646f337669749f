"""Methods that compare clips by their words: by name, or a model with a search of one's choice."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dancematch.errors import InputError
from dancematch.evaluation.methods.feature_comparison import WORDLESS_METHODS
from dancematch.model.patches import PatchTokeniser
from dancematch.model.tokeniser import load_model
from dancematch.search.settings import DEFAULT_SETTINGS, SETTINGS, Settings
from dancematch.search.stage1.histogram import DEFAULT_WEIGHTING, Weighting


@dataclass(frozen=True)
class WordMethod:
    """A model's words, a weighting, whether their order counts, and how a query's words are counted."""

    model: str | Path
    weighting: Weighting = DEFAULT_WEIGHTING
    settings: Settings | None = None  # of stage two; None = histograms alone
    phases: int = 1  # starting frames at which the query is tokenised; the counts of all are added
    soft: bool = False  # a query's patch counts as its nearest words, by weight

    @property
    def suffix(self) -> str:
        """What distinguishes the method's name from the search by histograms."""
        search = next((name for name, one in SEARCHES.items() if one is self.settings), "two-stage")
        marks = {
            "-cosine": self.weighting == "cosine",
            f"-{search}": self.settings is not None,
            f"-phases{self.phases}": self.phases > 1,
            "-soft": self.soft,
        }
        return "".join(mark for mark, applies in marks.items() if applies)

    def searched(self, search: str, phases: int, soft: bool) -> "WordMethod":
        """The same words, searched in another way."""
        settings = SEARCHES[search] or self.settings
        weighting = settings.weighting if settings else self.weighting
        return replace(self, settings=settings, weighting=weighting, phases=phases, soft=soft)


# How stage two searches; None = histograms alone.
SEARCHES: Mapping[str, Settings | None] = {
    "histogram": None,
    "two-stage": replace(DEFAULT_SETTINGS, ranked_by="score"),
    "likelihood": DEFAULT_SETTINGS,  # as `dancematch search`: words and synchrony
    "brute-force": replace(DEFAULT_SETTINGS, shortlist="all", ranked_by="score"),
    "paper": SETTINGS["paper"],
}

WORD_METHODS: Mapping[str, WordMethod] = {
    "stage1": WordMethod("network"),
    "two-stage": WordMethod("network", settings=SEARCHES["two-stage"]),
    "likelihood": WordMethod("network", settings=SEARCHES["likelihood"]),
    "brute-force": WordMethod("network", settings=SEARCHES["brute-force"]),
    "paper": WordMethod("network", "cosine", settings=SEARCHES["paper"]),
    "kmeans": WordMethod("floor"),
    "kmeans-two-stage": WordMethod("floor", settings=SEARCHES["two-stage"]),
    "kmeans-cosine": WordMethod("floor", "cosine"),
    "kmeans-whole": WordMethod("floor-whole"),
}


def load_word_method(method: str | WordMethod) -> tuple[WordMethod, PatchTokeniser, str]:
    """A method, its model, and the name it is reported under."""
    if isinstance(method, str):
        if method not in WORD_METHODS:
            raise InputError(f"methods: {', '.join((*WORD_METHODS, *WORDLESS_METHODS))}; got {method!r}")
        return WORD_METHODS[method], load_model(WORD_METHODS[method].model), method
    model = load_model(method.model)
    # The layout is named where it differs from that of the words without a network.
    layout = "" if model.layout == load_model(WORD_METHODS["kmeans"].model).layout else f"-{model.layout}"
    return method, model, f"{model.kind}{layout}{method.suffix}"
