"""A dance and its recordings, from files to answers: what joins what, what is kept, what a search says."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dance_samples import (
    Puppet,
    dance,
    digest,
    recorded,
    save_small_model,
    shipped,
    write_dance,
    write_puppets,
)
from dancematch import formats
from dancematch.catalogue.editing.requests import EditDance, EditRecording
from dancematch.errors import DanceExistsError, InputError
from dancematch.pipeline.analysis.info_files import info_path
from dancematch.pipeline.catalogue import Catalogue, open_catalogue
from dancematch.search.confidence.verdict import MAX_EVALUE, evalue_of, verdict_of
from dancematch.search.engine import Query
from dancematch.types import Span
from film_samples import FilmedDancer
from pose_samples import quarters, write_clip

OTHERS = 6  # dances beside the one of several recordings


@pytest.fixture
def known(tmp_path):
    """An empty catalogue of the small model, which looks at videos of a `Puppet`."""
    save_small_model(tmp_path / "model")
    with Catalogue(tmp_path / "dances.db", model=tmp_path / "model", make_estimator=Puppet) as catalogue:
        yield catalogue


@pytest.fixture
def searched(tmp_path):
    """Thriller by two dancers, and other dances."""
    with open_catalogue(tmp_path / "searched.db") as catalogue:
        for number in range(OTHERS):
            catalogue.learn(recorded(f"dance{number}", f"{number}.npz", digest(number)), [dance(number)])
        for dancer in (2, 3):
            add_thriller(catalogue, dancer)
        yield catalogue


def add_thriller(catalogue: Catalogue, dancer: int) -> None:
    new = recorded("Thriller", f"by {dancer}.npz", digest(f"by {dancer}"))
    catalogue.learn(new, [dance(20, dancer)], join=True)


def files_of(catalogue: Catalogue) -> dict[str, list[str]]:
    """The files of each dance, in the order of adding."""
    return {one.name: [r.file for r in catalogue.recordings(one.name)] for one in catalogue.dances()}


# ---- adding


def test_a_file_joins_the_dance_that_is_said(tmp_path, known):
    """By its name or, if no dance is called so, by its id; what is said of the dance is united."""
    one, two, three = write_puppets(tmp_path, a=1, b=2, c=3)
    first = known.add(one, dance="Waltz", labels=["slow"], performer="Anna")
    second = known.add(two, dance="Waltz", labels=["old", "slow"], notes="from Vienna", performer="Ben")
    third = known.add(three, dance=first.dance_id, date="2020")

    assert {"Waltz": ["a.mp4", "b.mp4", "c.mp4"]} == files_of(known)
    assert [1, 2, 3] == [one.recordings for one in (first, second, third)]
    assert 1 == len({one.dance_id for one in (first, second, third)})
    (dance,) = known.dances()
    assert (("old", "slow"), "from Vienna", 3) == (dance.labels, dance.notes, dance.recordings)
    assert [("Anna", None), ("Ben", None), (None, "2020")] == [
        (one.performer, one.date) for one in known.recordings("Waltz")
    ]


def test_a_name_that_is_taken_is_refused_and_the_way_is_said(tmp_path, known):
    """New content under the name of a known dance: perhaps another recording of it, perhaps not."""
    known.add(write_puppets(tmp_path / "x", a=1)[0])
    (again,) = write_puppets(tmp_path / "y", a=2)
    with pytest.raises(DanceExistsError) as refused:
        known.add(again)

    assert str(refused.value).endswith(
        "the content is new: if it is another recording of that dance, say so (--dance 'a'), "
        "else give it another name (--dance NAME, or for many files --dance-from folder or --index)"
    )
    assert {"a": ["a.mp4"]} == files_of(known)
    known.add(again, dance="a")
    assert {"a": ["a.mp4", "a.mp4"]} == files_of(known)


def test_one_text_is_no_list_of_labels(tmp_path, known):
    """Its characters would be the labels."""
    (clip,) = write_puppets(tmp_path, a=1)
    with pytest.raises(InputError, match="labels are several texts, got one: 'pop'"):
        known.add(clip, labels="pop")

    assert [] == known.dances()


@pytest.mark.parametrize(("what", "other"), [("notes", "another"), ("collection", "Berlin")])
def test_what_contradicts_the_dance_is_refused_before_the_work(tmp_path, known, what, other):
    """Nothing is added, nor looked at; the same again, or nothing, is no contradiction."""
    one, two, three = write_puppets(tmp_path, a=1, b="deadly", c=3)
    known.add(one, dance="Waltz", **{what: "Vienna"})
    with pytest.raises(InputError, match=rf"its {what} is 'Vienna', not '{other}'; nothing was added"):
        known.add(two, dance="Waltz", **{what: other})
    known.add(three, dance="Waltz", **{what: "Vienna"})

    assert {"Waltz": ["a.mp4", "c.mp4"]} == files_of(known)
    assert "Vienna" == getattr(known.dance("Waltz"), what)


def test_a_downloaders_information_completes_what_is_said(tmp_path, known):
    """Performer, address and date; the music is a label. What is said in so many words comes first."""
    info = {
        "title": "My dance", "uploader": "anna", "webpage_url": "https://example.org/a", "track": "Thriller",
        "artist": "Michael Jackson", "upload_date": "20200131",
    }  # fmt: skip
    one, two = write_puppets(tmp_path, a=1, b=2)
    for clip in (one, two):
        info_path(clip).write_text(json.dumps(info))
    known.add(one)
    known.add(two, dance="Mine", performer="Ben", date="1983", labels=["jazz"])
    mine, downloaded = known.recordings()

    assert ["Mine", "My dance"] == [mine.dance, downloaded.dance]
    assert ("anna", "https://example.org/a", "2020-01-31") == (
        downloaded.performer, downloaded.url, downloaded.date
    )  # fmt: skip
    assert ("Ben", "https://example.org/a", "1983") == (mine.performer, mine.url, mine.date)
    music = "Thriller - Michael Jackson"
    assert [(music, "jazz"), (music,)] == [one.labels for one in known.dances()]


def test_a_poster_is_kept_if_it_is_asked_for(tmp_path):
    """By default none; what has no frames has none in any case."""
    films = [write_clip(tmp_path / f"{side}.mp4", image=quarters(side, 200)) for side in (320, 240)]
    motion = write_dance(tmp_path / "motion.npz", 5)
    save_small_model(tmp_path / "model")
    with Catalogue(tmp_path / "d.db", model=tmp_path / "model", make_estimator=FilmedDancer) as catalogue:
        catalogue.add(films[0], poster=True)
        catalogue.add(films[1])
        catalogue.add(motion, poster=True)
        kept = {one.file: one for one in catalogue.recordings()}

        assert {"320.mp4": True, "240.mp4": False, "motion.npz": False} == {
            name: one.poster for name, one in kept.items()
        }
        assert catalogue.poster(kept["320.mp4"].recording_id).startswith(b"\xff\xd8\xff")
        assert catalogue.poster(kept["240.mp4"].recording_id) is None


# ---- searching


def test_a_dance_is_one_candidate_with_all_its_recordings(searched):
    """The match is that of the best recording, which comes first; each is named by its file."""
    answer = searched.search(dance(20, dancer=5), limit=20)
    best = answer.candidates[0]

    assert 1 + OTHERS == len(answer.candidates) == len({one.dance_id for one in answer.candidates})
    assert ("Thriller", "match") == (best.name, best.verdict)
    assert {"by 2.npz", "by 3.npz"} == {one.recording for one in best.recordings}
    first = best.recordings[0]
    for name in ("recording", "recording_id", "track", "reference", "query", "mirrored", "reference_dancer"):
        assert getattr(first, name) == getattr(best, name)
    assert [1] * OTHERS == [len(one.recordings) for one in answer.candidates[1:]]


def test_the_verdict_counts_dances_and_not_recordings(searched):
    """The E-value is that of the pooled ratio among so many dances, whatever recordings are listed."""
    for match in searched.search(dance(20, dancer=5), limit=20).candidates:
        expected = evalue_of(match.log_ratio, 1 + OTHERS)
        assert expected == pytest.approx(match.evalue, rel=1e-3)
        assert verdict_of(match.evalue, MAX_EVALUE) == match.verdict


def test_what_is_in_the_catalogue_is_no_part_of_the_cohort(searched):
    """More recordings of the dance, even the query itself, and other dances: the null scores stay.

    Only what words are worth, by how many dances use them, changes a little.
    """
    asked = Query(shipped().fingerprint(dance(20, dancer=5)))
    thriller = searched.dance("Thriller").dance_id
    before = searched.engine().score_dance(asked, thriller).null
    add_thriller(searched, 4)
    add_thriller(searched, 5)
    searched.learn(recorded("copy", "copy.npz", digest("copy")), [dance(20, dancer=6)])
    scored = searched.engine().score_dance(asked, thriller)

    assert len(before) == len(scored.null) > 0
    np.testing.assert_array_equal(before.strengths, scored.null.strengths)
    for kind in ("histograms", "orders"):
        np.testing.assert_allclose(getattr(before, kind), getattr(scored.null, kind), atol=0.02)
    assert before.histograms.max() < 0.9


def test_a_new_name_is_seen_by_the_next_search_and_the_index_stays(searched):
    """Names are no part of it: the very same engine answers."""
    before = searched.search(dance(20, dancer=5)).candidates
    engine = searched.engine()
    searched.edit([EditDance("Thriller", {"name": "Zombies"})])
    after = searched.search(dance(20, dancer=5)).candidates

    assert engine is searched.engine()
    assert [replace(before[0], dance="Zombies"), *before[1:]] == after


def test_a_recording_that_was_moved_is_found_as_its_new_dance(searched):
    """By the next search, also of another process's connection; undone, as before."""
    with open_catalogue(searched.where) as other:
        before = other.search(dance(20, dancer=2)).candidates[0]
        searched.edit([EditRecording("by 2.npz", move_to="dance0")])
        moved = other.search(dance(20, dancer=2)).candidates
        searched.undo()
        again = other.search(dance(20, dancer=2)).candidates[0]

    assert ("Thriller", "by 2.npz", 2) == (before.name, before.recording, len(before.recordings))
    assert {"dance0": "by 2.npz", "Thriller": "by 3.npz"} == {one.name: one.recording for one in moved[:2]}
    assert {"dance0": {"0.npz", "by 2.npz"}, "Thriller": {"by 3.npz"}} == {
        one.name: {each.recording for each in one.recordings} for one in moved[:2]
    }
    assert (before.dance_id, before.recording) == (again.dance_id, again.recording)


def test_merged_dances_are_one_candidate(searched):
    """The one that stays, with the recordings of both."""
    searched.learn(recorded("copy", "copy.npz", digest("copy")), [dance(20, dancer=6)])
    two = [one.name for one in searched.search(dance(20, dancer=5)).candidates[:2]]
    searched.edit([EditDance("copy", merge_into="Thriller")])
    merged = searched.search(dance(20, dancer=5), limit=20).candidates

    assert {"Thriller", "copy"} == set(two)
    assert "copy" not in [one.name for one in merged]
    assert {"by 2.npz", "by 3.npz", "copy.npz"} == {one.recording for one in merged[0].recordings}


def test_a_segment_is_excluded_of_one_recording(searched):
    """Of a dance of several it must be said of which; the others go on matching."""
    with pytest.raises(InputError, match="'Thriller' has 2 recordings; say which one the segment is of"):
        searched.exclude("Thriller", Span(0, 60))
    (excluded,) = searched.exclude("Thriller", Span(0, 60), recording="by 2.npz")
    best = searched.search(dance(20, dancer=2)).candidates[0]
    ratios = {one.recording: one.log_ratio for one in best.recordings}

    assert ("Thriller", "by 2.npz") == (excluded.dance, excluded.file)
    assert ("Thriller", "by 3.npz", "match") == (best.name, best.recording, best.verdict)
    assert ratios["by 2.npz"] < 0 < ratios["by 3.npz"]


def test_the_last_recording_takes_its_dance_along(searched, tmp_path):
    searched.remove_recordings(["by 2.npz"])
    assert ["by 3.npz"] == files_of(searched)["Thriller"]
    searched.remove_recordings(["by 3.npz"])

    assert "Thriller" not in files_of(searched)
    assert Path(searched.where) == tmp_path / "searched.db"


def test_each_of_two_dancers_gets_names_for_all_candidates(tmp_path):
    """Also where both are like one dance, each by another of its dancers."""
    formats.write(tmp_path / "duet.npz", [dance(1), dance(2)])
    with open_catalogue(tmp_path / "dances.db") as known:
        known.add(tmp_path / "duet.npz", dance="duet")
        known.add(write_dance(tmp_path / "solo.npz", 3))
        answer = known.search([dance(1, dancer=4), dance(2, dancer=4)])

    names = [{match.dance for match in one.candidates} for one in answer.dancers]
    assert [{"duet", "solo"}, {"duet", "solo"}] == names
    assert {1, 2} == {one.candidates[0].reference_dancer for one in answer.dancers}
