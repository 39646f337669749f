"""Why a dancer's best candidate is a match, or is none: what `dancematch search --explain` prints."""

from itertools import zip_longest
from typing import TYPE_CHECKING

from dancematch.cli.output import emit, emit_table
from dancematch.pipeline.wording import basis_sentence, rarity_cell, ratio_words, shortfall_sentence
from dancematch.search.confidence.verdict import LEAST_SECONDS

if TYPE_CHECKING:
    from dancematch.pipeline.answer import DancerAnswer
    from dancematch.pipeline.counts.counts import Counts
    from dancematch.search.explain import Explanation
    from dancematch.search.stage2.passage_holders import PassageHolders
    from dancematch.search.stage2.periodicity import Period
    from dancematch.types import Match, Passage, Span


def print_explanation(
    one: "DancerAnswer", why: "Explanation", max_evalue: float, counts: "Counts | None"
) -> None:
    """Show why a dancer's best candidate is a match or is none, as tables; `counts` are the known dance's."""
    match = one.candidates[0]
    emit()
    emit(_explain_evidence(match))
    for sentence in (_explain_shortness(one), shortfall_sentence(match, max_evalue)):
        if sentence:
            emit(sentence)
    emit()
    emit(f"How like {match.name}: each metric, 1 = the same; those with a weight make the score")
    _print_metrics(why)
    emit()
    emit("The words that say most for it; in brackets, how often the dance has the very same word")
    emit_table(
        ["body part", "word", "share", "in the clip", "in the dance"],
        [
            [
                said.channel.replace("_", " "),
                f"{said.word} ({100 * said.same:.0f} %)",
                f"{100 * said.share:.1f} %",
                _when(said.query),
                _when(said.reference),
            ]
            for said in why.words
        ],
    )
    _print_passages(why, counts)
    emit()
    emit(_period_line(match.name, why.period))
    emit(_period_line("the clip", why.query_period))


def _explain_evidence(match: "Match") -> str:
    """How strong the evidence is, and what words and synchrony say."""
    said = [] if match.log_ratio is None else [ratio_words(match.log_ratio)]
    said.append(f"The words of both are alike by {match.score:.2f} of 1.")
    if basis := basis_sentence(match):
        return " ".join([*said, basis])
    agree, seconds = match.parts["synchrony"], match.parts["synchrony_seconds"]
    return " ".join(
        [*said, f"At the same moments both move alike by {agree:.2f} of 1, over {seconds:.0f} s."]
    )


def _explain_shortness(one: "DancerAnswer") -> str:
    if one.span.seconds >= LEAST_SECONDS:
        return ""
    return (
        f"The dancer is seen for {one.span.seconds:.1f} s; words and synchrony count from "
        f"{LEAST_SECONDS:.0f} s on."
    )


def _print_metrics(why: "Explanation") -> None:
    names = list(why.metrics)
    channels = dict.fromkeys(channel for one in why.metrics.values() for channel in one.by_channel)
    weights = [f"{one.weight:.2f}" if one.weight else "" for one in why.metrics.values()]
    overall = ["" if one.overall is None else f"{one.overall:.2f}" for one in why.metrics.values()]
    rows = [["weight", *weights], ["all together", *overall]]
    for channel in channels:
        values = [one.by_channel.get(channel) for one in why.metrics.values()]
        shown = ["" if value is None else f"{value:.2f}" for value in values]
        rows.append([channel.replace("_", " "), *shown])
    emit_table(["", *names], rows)


def _print_passages(why: "Explanation", counts: "Counts | None") -> None:
    if not why.passages:
        emit()
        emit("No passage matches movement by movement.")
        return
    emit()
    emit("The passages that match, best first")
    emit_table(
        ["in the clip", "in the dance", "in counts", "tempo", "rarity", "and again in the dance"],
        [
            _passage_row(group, counts, rarity)
            for group, rarity in zip_longest(why.passages, why.rarity[: len(why.passages)])
        ],
    )


def _when(spans: "tuple[Span, ...]", most: int = 3) -> str:
    named = ", ".join(f"{span.start:.1f} to {span.end:.1f}" for span in spans[:most])
    return f"{named} s" + (f" and {len(spans) - most} more" if len(spans) > most else "")


def _passage_row(
    group: "tuple[Passage, ...]", counts: "Counts | None", rarity: "PassageHolders | None"
) -> list[str]:
    first, *again = group
    repeated = _when(tuple(passage.reference for passage in again)) if again else ""
    return [
        _when((first.query,)),
        _when((first.reference,)),
        "" if counts is None else counts.describe(first.reference),
        f"x{first.tempo:.2f}",
        "" if rarity is None else rarity_cell(rarity.as_alike, rarity.others),
        repeated,
    ]


def _period_line(what: str, period: "Period | None") -> str:
    if period is None:
        return f"{what} does not repeat itself"
    return f"{what} repeats itself every {period.seconds:.1f} s (strength {period.strength:.2f} of 1)"
