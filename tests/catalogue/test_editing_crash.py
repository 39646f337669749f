"""Kill -9 in the middle of an edit, a merge, an undo and a table of edits: all of it is made, or nothing."""

import itertools
import random
import shutil
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from test_catalogue_crash import lines_of_a_killed_child, report_of, start, tell

from catalogue_samples import edit, of_dance, undo
from dance_samples import MODEL, random_words
from dancematch.catalogue.editing.requests import Edit, EditDance, EditRecording
from dancematch.catalogue.records import StoredTrack
from dancematch.catalogue.store import Store
from dancematch.catalogue.verify import find_problems
from dancematch.types import Span
from databases import contents

MANY = 60  # dances of a table
RANDOM_MOMENTS = 5
KINDS: dict[str, list[Edit]] = {
    "edit": [
        EditDance("d1", {"name": "d2", "notes": "x"}, add_labels=("y",)),
        EditDance("d2", {"name": "d1"}),
        EditRecording("f3", {"performer": "x"}, exclude=Span(1, 2)),
        EditRecording("f5", new_dance="new"),
    ],
    "merge": [EditDance("d1", merge_into="d0"), EditDance("d0", {"name": "d1"})],
    "table": [
        one
        for number in range(MANY)
        for one in (
            EditDance(f"d{number}", {"name": f"n{number}", "notes": "x", "labels": ("a", "b")}),
            EditRecording(f"f{number}", {"performer": "x", "date": "1999"}),
        )
    ],
    "undo": [],
}


def fill(address: str) -> None:
    """Dances of one recording each, and of two dancers each; the last edit merged two of them."""
    store = Store(address, MODEL)
    tracks = [StoredTrack(random_words(8, seed)) for seed in range(2)]
    store.add_many([(of_dance(f"d{n}", f"f{n}", labels=("old",)), tracks) for n in range(MANY + 1)])
    edit(store, EditDance(f"d{MANY}", {"notes": "y"}, merge_into="d5"))
    store.close()


def change(store: Store, kind: str) -> None:
    if kind == "undo":
        undo(store)
    else:
        edit(store, *KINDS[kind])


def change_and_halt(address: str, kind: str, moment: int | None, say: Callable[[str], object]) -> None:
    """Make a change, but come to a halt before the statement of that number; or after all of them."""
    numbers = itertools.count()

    def halt(*_: object) -> None:
        if next(numbers) == moment:
            say("halted")
            signal.pause()

    store = Store(address, MODEL, create=False)
    sa.event.listen(sa.Engine, "before_cursor_execute", halt)
    if moment is None:
        say("begins")
    change(store, kind)
    say("done")
    signal.pause()


def state_of(address: str) -> tuple[dict, list[str]]:
    store = Store(address, MODEL, create=False)
    problems = [str(problem) for problem in find_problems(store)]
    store.close()
    return contents(address), problems


def kill_editors(folder: str) -> None:
    """Kill changes of every kind, and report what each leaves."""
    for kind in KINDS:
        Path(folder, kind).mkdir()
        kill_one_kind(f"{folder}/{kind}", kind)


def kill_one_kind(folder: str, kind: str) -> None:
    """Kill a change before its statements and at random moments."""
    base, chance = f"{folder}/base.db", random.Random(kind)  # noqa: S311  (moments, not secrets)
    fill(base)
    made = shutil.copy(base, f"{folder}/made.db")
    store = Store(made, MODEL)
    change(store, kind)
    store.close()
    wanted, before = contents(made), contents(base)
    moments = itertools.chain([None] * RANDOM_MOMENTS, itertools.count(0, 3))
    for moment in moments:
        attempt = shutil.copy(base, f"{folder}/attempt.db")
        for beside in ("-wal", "-shm"):
            Path(attempt + beside).unlink(missing_ok=True)
        lines = lines_of_a_killed_child(
            lambda say, attempt=attempt, moment=moment: change_and_halt(attempt, kind, moment, say),
            delay=chance.uniform(0, 0.03) if moment is None else 0,
        )
        found, problems = state_of(attempt)
        # New dances have random ids: what was made is told by the recordings that have gone.
        is_made = found == wanted if kind != "edit" else found != before and len(found["dances"]) == MANY + 1
        tell({"kind": kind, "lines": lines, "before": found == before, "made": is_made, "problems": problems})
        if moment is not None and "done" in lines:
            return


def test_kill_9_in_the_middle_of_an_edit_leaves_all_of_it_or_nothing(tmp_path):
    """Before any statement nothing of it is there; acknowledged, all of it is; at no moment a part."""
    reports = report_of(start(kill_editors, tmp_path))

    assert [] == [report for report in reports if report["problems"] or report["before"] == report["made"]]
    assert all(report["before"] for report in reports if report["lines"] == ["halted"])
    assert all(report["made"] for report in reports if "done" in report["lines"])
    halted = Counter(report["kind"] for report in reports if report["lines"] == ["halted"])
    assert sorted(KINDS) == sorted(kind for kind, times in halted.items() if times > 4)


@pytest.mark.parametrize("kind", ["merge", "undo"])
def test_kill_9_in_the_middle_of_an_edit_of_a_server_leaves_nothing_of_it(postgresql, kind):
    """Late in the change, when most of it is written; the next one finds the catalogue free."""
    address = postgresql.new_schema()
    fill(address)
    before = contents(address)
    for moment in (10, 18):
        lines = lines_of_a_killed_child(
            lambda say, moment=moment: change_and_halt(address, kind, moment, say)
        )
        assert (["halted"], before, []) == (lines, *state_of(address))
    store = Store(address, MODEL)
    change(store, kind)
    store.close()

    assert before != contents(address)
