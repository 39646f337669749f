"""Any edits in any order: a plain model says the same as the catalogue, and undoing gives what was before."""

from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalogue_samples import address_of, edit, names, of_dance, undo
from dance_samples import MODEL, random_words
from dancematch.catalogue.editing.requests import Edit, EditDance, EditRecording
from dancematch.catalogue.records import Changes, StoredTrack
from dancematch.catalogue.store import Store
from dancematch.catalogue.verify import find_problems
from dancematch.errors import DanceMatchError
from dancematch.types import Span
from databases import contents

DANCES = {"A": ("a.mp4",), "B": ("b.mp4", "c.mp4"), "C": ("d.mp4",)}
FILES = sorted(file for files in DANCES.values() for file in files)
NAMES = ["A", "B", "C", "D", "E"]  # two that are free at first
TEXTS = st.one_of(st.none(), st.sampled_from(["x", "y"]))
LABELS = st.lists(st.sampled_from("pqr"), max_size=2).map(tuple)

EDITS = st.one_of(
    st.builds(EditDance, st.sampled_from(NAMES), st.fixed_dictionaries({"name": st.sampled_from(NAMES)})),
    st.builds(
        EditDance,
        st.sampled_from(NAMES),
        st.fixed_dictionaries({}, optional={"notes": TEXTS, "collection": TEXTS, "labels": LABELS}),
        LABELS,
    ),
    st.builds(EditDance, st.sampled_from(NAMES), merge_into=st.sampled_from(NAMES)),
    st.builds(EditRecording, st.sampled_from(FILES), st.fixed_dictionaries({"performer": TEXTS})),
    st.builds(EditRecording, st.sampled_from(FILES), move_to=st.sampled_from(NAMES)),
    st.builds(EditRecording, st.sampled_from(FILES), new_dance=st.sampled_from(NAMES)),
    st.builds(
        EditRecording,
        st.sampled_from(FILES),
        exclude=st.sampled_from([Span(0, 2), Span(1, 3), Span(5, 6)]),
        clear_exclusions=st.booleans(),
    ),
)
BATCHES = st.lists(st.lists(EDITS, min_size=1, max_size=3), min_size=1, max_size=6)


@dataclass
class Model:
    """The dances and recordings of a catalogue as plain values, edited one by one."""

    dances: dict[str, dict[str, Any]] = field(default_factory=dict)  # by name
    owners: dict[str, str] = field(default_factory=dict)  # names of dances by file
    performers: dict[str, str | None] = field(default_factory=dict)
    unseen: dict[str, set[int]] = field(default_factory=dict)  # seconds that never match, by file

    @classmethod
    def initial(cls) -> "Model":
        """What `filled` makes."""
        owners = {file: name for name, files in DANCES.items() for file in files}
        dances = {name: {"notes": None, "collection": None, "labels": set()} for name in DANCES}
        return cls(dances, owners, dict.fromkeys(FILES), {file: set() for file in FILES})

    def _rename(self, old: str, new: str) -> None:
        self.dances = {new if name == old else name: said for name, said in self.dances.items()}
        self.owners = {file: new if name == old else name for file, name in self.owners.items()}

    def edit(self, wanted: Edit) -> None:
        """Make one edit that the catalogue has made, too."""
        if isinstance(wanted, EditRecording):
            self._edit_recording(wanted)
            return
        said = self.dances[wanted.dance]
        said |= {key: value for key, value in wanted.values.items() if key in ("notes", "collection")}
        if "labels" in wanted.values:
            said["labels"] = set(wanted.values["labels"] or ())
        said["labels"] = said["labels"] | set(wanted.add_labels)
        if wanted.merge_into is not None:
            self._merge(wanted.dance, wanted.merge_into)
        elif "name" in wanted.values:
            self._rename(wanted.dance, str(wanted.values["name"]))

    def _merge(self, name: str, into: str) -> None:
        gone, kept = self.dances[name], self.dances[into]
        kept["labels"] |= gone["labels"]
        kept["collection"] = kept["collection"] or gone["collection"]
        kept["notes"] = "; ".join(dict.fromkeys(n for n in (kept["notes"], gone["notes"]) if n)) or None
        self.owners = {file: into if owner == name else owner for file, owner in self.owners.items()}
        self._forget_empty()

    def _edit_recording(self, wanted: EditRecording) -> None:
        file = wanted.recording
        if "performer" in wanted.values:
            self.performers[file] = wanted.values["performer"]  # type: ignore[assignment]
        if wanted.new_dance is not None:
            self.dances[wanted.new_dance] = {"notes": None, "collection": None, "labels": set()}
        self.owners[file] = wanted.new_dance or wanted.move_to or self.owners[file]
        if wanted.clear_exclusions:
            self.unseen[file] = set()
        if wanted.exclude is not None:
            self.unseen[file] |= set(range(int(wanted.exclude.start), int(wanted.exclude.end)))
        self._forget_empty()

    def _forget_empty(self) -> None:
        self.dances = {name: said for name, said in self.dances.items() if name in self.owners.values()}


def filled(folder: Path) -> Store:
    store = Store(folder / "dances.db", MODEL)
    numbers = count()
    for name, files in DANCES.items():
        for file in files:
            tracks = [StoredTrack(random_words(40, next(numbers))) for _ in range(1 + (file == "b.mp4"))]
            store.add(of_dance(name, file), tracks, join=True)
    return store


def check(store: Store, model: Model) -> None:
    """The catalogue says what the model says."""
    assert sorted(model.dances) == names(store)
    for known in store.dances():
        said = model.dances[known.name]
        assert (said["notes"], said["collection"], tuple(sorted(said["labels"]))) == (
            known.notes,
            known.collection,
            known.labels,
        )
    found = {one.file: (one.dance, one.performer) for one in store.recordings()}
    assert {file: (model.owners[file], model.performers[file]) for file in FILES} == found
    unseen: dict[str, set[int]] = {file: set() for file in FILES}
    for one in store.exclusions():
        unseen[one.file] |= set(range(int(one.start), int(one.end)))
    assert model.unseen == unseen


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(edits=st.lists(EDITS, min_size=1, max_size=12))
def test_single_edits_do_what_a_plain_model_does(tmp_path_factory, edits):
    """What the catalogue refuses changes nothing in it."""
    store, model = filled(tmp_path_factory.mktemp("model")), Model.initial()
    for wanted in edits:
        try:
            edit(store, wanted)
        except DanceMatchError:
            check(store, model)
            continue
        model.edit(wanted)
        check(store, model)
    assert [] == list(find_problems(store))
    store.close()


def held_by_a_search(found: Changes, held: dict[int, Any]) -> dict[int, Any]:
    """What a search holds after some changes, in a form that can be compared."""
    kept = {key: value for key, value in held.items() if key not in found.removed}
    for track in found.added:
        seen = track.fingerprint.visibility.tobytes()
        kept[track.key] = (track.dance_id, track.dance_key, track.labels, track.collection, seen)
    return kept


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(batches=BATCHES)
def test_undoing_gives_what_was_before_and_a_search_that_follows_knows_it(tmp_path_factory, batches):
    """After any edit of several things; following the changes leads to the same as reading everything."""
    store = filled(tmp_path_factory.mktemp("undone"))
    address = address_of(store)
    began = store.everything()
    held, generation = held_by_a_search(began, {}), began.generation
    for batch in batches:
        before = contents(address)
        try:
            said = edit(store, *batch, dry_run=True)
        except DanceMatchError:
            with pytest.raises(DanceMatchError):
                edit(store, *batch)
            assert before == contents(address)
            continue
        assert before == contents(address)
        assert said.changes == edit(store, *batch).changes
        after = contents(address)
        if said.changes:
            undo(store)
            assert before == contents(address)
            undo(store)
        assert after == contents(address)
        assert bool(said.changes) == (before != after)
        found = store.changes(generation)
        assert found is not None
        held, generation = held_by_a_search(found, held), found.generation
        assert held_by_a_search(store.everything(), {}) == held
    assert [] == list(find_problems(store))
    store.close()
