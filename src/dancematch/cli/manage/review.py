"""dancematch review: possible matches wait for a decision."""

import getpass
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dancematch.cli.options import file_path, json_option, model_option, option, option_group
from dancematch.cli.output import emit, emit_json, emit_table, require_free, say
from dancematch.errors import InputError
from dancematch.pipeline.wording import accident_cell, describe_decision, describe_span, ratio_cell

if TYPE_CHECKING:
    from dancematch.catalogue.review_records import Decision, Review, ReviewState
    from dancematch.pipeline.catalogue import Catalogue
    from dancematch.pipeline.review_list import Refit

_STDOUT = Path("-")
_NARROW = (
    "It rests on possible matches alone: nothing was decided about matches, nor about what was no match."
)


@dataclass(frozen=True)
class DecisionOptions:
    """What is decided of one review."""

    confirm: bool = option("--confirm", is_flag=True, help="It is the same dance.")
    reject: bool = option("--reject", is_flag=True, help="It is another dance.")
    changed: bool = option("--changed", is_flag=True, help="It is the same dance, changed.")
    reopen: bool = option("--reopen", is_flag=True, help="Take a decision back: it waits again.")
    by: str | None = option("--by", metavar="NAME", help="Who decides (default: the user's login name).")
    note: str | None = option("--note", metavar="TEXT", help="Why, in a line.")

    def chosen(self) -> list[str]:
        """The decisions that were given, by the names of their options."""
        return [name for name in ("confirm", "reject", "changed", "reopen") if getattr(self, name)]

    def decision(self) -> "Decision | None":
        """The one that was given; None to reopen."""
        if self.reopen:
            return None
        return "confirmed" if self.confirm else "rejected" if self.reject else "changed"


@dataclass(frozen=True)
class ReviewListOptions:
    """What is listed, and where to."""

    everything: bool = option("--all", is_flag=True, help="List what was decided too.")
    dance: str | None = option("--dance", metavar="NAME", help="List what is about this dance only.")
    csv: Path | None = option(
        "--csv", type=file_path(), metavar="FILE",
        help="Write a table of all, decided or not, with the columns of --json; - prints it.",
    )  # fmt: skip
    force: bool = option("--force", is_flag=True, help="Let --csv replace a file that is there.")


@dataclass(frozen=True)
class RefitOptions:
    """Whether verdicts are refitted on the decisions."""

    refit: bool = option(
        "--refit", is_flag=True,
        help="Say how verdicts would change if they were refitted on the decisions; changes nothing.",
    )  # fmt: skip
    yes: bool = option("--yes", is_flag=True, help="With --refit: do it.")
    reset: bool = option("--reset", is_flag=True, help="With --refit: take it back.")


@click.command("review")
@click.argument("catalogue")
@click.argument("review_id", metavar="[ID]", required=False)
@option_group("decided", DecisionOptions)
@option_group("listed", ReviewListOptions)
@option_group("refitted", RefitOptions)
@model_option
@json_option
def review_command(
    catalogue: str,
    review_id: str | None,
    decided: DecisionOptions,
    listed: ReviewListOptions,
    refitted: RefitOptions,
    model: str | None,
    as_json: bool,
) -> None:
    """List the possible matches of CATALOGUE that wait for a decision, or decide on the one with that ID.

    'dancematch search CATALOGUE CLIPS --review' puts them on the list. A decision is kept with who made it
    and when, shown in reports on the same clip and dance, and erased with the recording. The first four
    characters of an ID, or more, are enough if no other begins so.

    With --refit, one offset for all likelihood ratios is fitted on the decisions: ten at least, with three
    of each kind. It is shown, and with --yes kept: every answer then says so. --refit --reset takes it back.

    \b
    Example:
      dancematch review dances.db
      dancematch review dances.db r3f2 --confirm --by Anna --note "seen it live"
      dancematch review dances.db r3f2 --changed
      dancematch review dances.db --all --csv reviews.csv
      dancematch review dances.db --refit
    """
    from dancematch.pipeline.catalogue import open_catalogue

    _refuse_contradictions(review_id, decided, listed, refitted, as_json)
    if listed.csv not in (None, _STDOUT):
        require_free(Path(listed.csv or ""), listed.force)
    with open_catalogue(catalogue, model=model, create=False) as known:
        if refitted.refit:
            _refit(known, refitted, decided.by, as_json)
        elif review_id is not None and decided.chosen():
            by = None if decided.reopen else decided.by or _login_name()
            _show([known.reviews.decide(review_id, decided.decision(), by, decided.note)], as_json)
        elif review_id is not None:
            _show([known.reviews.find(review_id)], as_json)
        else:
            _list(known, catalogue, listed, as_json)


def _refuse_contradictions(
    review_id: str | None,
    decided: DecisionOptions,
    listed: ReviewListOptions,
    refitted: RefitOptions,
    as_json: bool,
) -> None:
    chosen = decided.chosen()
    if len(chosen) > 1:
        raise click.UsageError(f"--{chosen[0]} and --{chosen[1]} are two decisions; give one of them")
    if chosen and review_id is None:
        raise click.UsageError(f"--{chosen[0]} is about one review; give its ID, which the list shows")
    if decided.by == "":
        raise click.UsageError("--by is empty; name who decides, or leave it out")
    if decided.note is not None and (not chosen or decided.reopen):
        raise click.UsageError("--note is kept with a decision; give --confirm, --reject or --changed too")
    if (refitted.yes or refitted.reset) and not refitted.refit:
        raise click.UsageError(f"--{'yes' if refitted.yes else 'reset'} is about --refit; give that too")
    if refitted.yes and refitted.reset:
        raise click.UsageError("--yes keeps a refit and --reset takes it back; give one of them")
    about_list = listed.everything or listed.dance is not None or listed.csv is not None
    if refitted.refit and (review_id is not None or about_list):
        raise click.UsageError("--refit is about all decisions; leave out what is about reviews")
    if review_id is not None and about_list:
        raise click.UsageError("an ID names one review; leave out what is about the list")
    if listed.csv is not None and as_json:
        raise click.UsageError("--csv and --json are two ways to list the same; give one of them")


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        raise InputError("the user has no login name here; say who decides with --by NAME") from None


def _list(known: "Catalogue", catalogue: str, listed: ReviewListOptions, as_json: bool) -> None:
    state: ReviewState = "all" if listed.everything or listed.csv is not None else "waiting"
    found = known.reviews.read(state, dance=listed.dance)
    if listed.csv is not None:
        _write_csv(found, listed.csv, listed.force)
        return
    _show(found, as_json)
    if not found and not as_json:
        say(
            f"no possible match waits for review; 'dancematch search {catalogue} CLIPS --review' puts them "
            f"on the list"
        )


def _show(found: "Sequence[Review]", as_json: bool) -> None:
    if as_json:
        for one in found:
            emit_json(one)
    elif found:
        emit_table(
            ["id", "clip", "dance", "where in the dance", "evidence", "by accident", "decision"],
            [_cells(one) for one in found],
        )


def _cells(one: "Review") -> list[str]:
    dancer = f", dancer {one.dancer}" if one.dancer > 1 else ""
    mirrored = ", mirrored" if one.mirrored else ""
    return [
        one.review_id,
        f"{one.query_file}{dancer}, {describe_span(one.query)}",
        f"{one.dance} ({one.recording})",
        describe_span(one.reference) + mirrored,
        ratio_cell(one.log_ratio),
        accident_cell(one.evalue),
        describe_decision(one),
    ]


def _write_csv(found: "Sequence[Review]", table: Path, force: bool) -> None:
    from dancematch.formats.files import write_bytes
    from dancematch.pipeline.review_list import reviews_to_csv
    from dancematch.pipeline.tables import csv_file

    if table == _STDOUT:
        for line in reviews_to_csv(found):
            emit(line)
        return
    write_bytes(table, csv_file(reviews_to_csv(found)), overwrite=force)
    say(f"{table}: {len(found)} review{'s' * (len(found) != 1)}")


def _refit(known: "Catalogue", wanted: RefitOptions, by: str | None, as_json: bool) -> None:
    if wanted.reset:
        known.reviews.reset_refit()
        say("verdicts are those of the shipped calibration again")
        return
    proposed = known.reviews.refit(by or _login_name()) if wanted.yes else known.reviews.propose_refit()
    if as_json:
        emit_json(asdict(proposed) | {"stored": wanted.yes})
    else:
        _print_refit(proposed)
    if not wanted.yes:
        say("nothing was changed; say --refit --yes to shift verdicts so")


def _print_refit(proposed: "Refit") -> None:
    fit = proposed.fit
    emit(
        f"{fit.decisions} decisions, {fit.same} of them the same dance: verdicts shift by {fit.offset:+.2f} "
        f"decades (so far {proposed.now:+.2f})."
    )
    emit(
        f"The odds cost {fit.cost_before:.2f} bits per decision without a shift and {fit.cost_after:.2f} "
        f"with it, cross-validated (0 is perfect)."
    )
    if not fit.helps:
        emit("That is no gain: the decisions do not support a shift.")
    emit(_NARROW)
    for one in proposed.changed:
        review = one.review
        emit(
            f"{review.review_id}  {review.query_file} and {review.dance} ({review.recording}): "
            f"{one.before} -> {one.after}; {describe_decision(review)}"
        )
    many = len(proposed.changed)
    emit(f"{many} of the decided ones {'changes its verdict' if many == 1 else 'change their verdict'}.")
