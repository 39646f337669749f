"""Answers while a video is still being read."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from cli_samples import run_main
from dance_samples import dance, digest, recorded, write_dance
from dancematch.errors import NoDancerError
from dancematch.pipeline.catalogue import Catalogue, open_catalogue
from dancematch.pose.estimators import TracksSoFar
from dancematch.search.confidence.verdict import MAX_EVALUE, PARTIAL_SHARE, verdict_of
from dancematch.types import Match
from film_samples import PARTS, FilmedDancer, SlowFilm
from pose_samples import write_clip


class EmptyFilm(SlowFilm):
    """An estimator that sees no person."""

    def tracks_so_far(
        self, path: Path, *, on_frame: Callable[[float], None] | None = None
    ) -> Iterator[TracksSoFar]:
        """Nothing, and then nothing."""
        for read in super().tracks_so_far(path, on_frame=on_frame):
            yield replace(read, tracks=[])


def fill(catalogue: Catalogue) -> Catalogue:
    """Add eight dances."""
    for number in range(8):
        catalogue.learn(recorded(f"dance{number}", f"{number}.npz", digest(number)), [dance(number)])
    return catalogue


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A film of the third dance, and a catalogue that knows it."""
    where = tmp_path_factory.mktemp("films")
    write_clip(where / "film.mp4")
    with open_catalogue(where / "dances.db") as catalogue:
        fill(catalogue)
    return where


@pytest.fixture
def known(folder):
    SlowFilm.completed.clear()
    with Catalogue(folder / "dances.db", make_estimator=SlowFilm) as catalogue:
        yield catalogue


def test_answers_come_while_the_clip_is_read_and_the_last_is_that_of_a_search(known, folder):
    """After four and six seconds, not after a tenth of one, which gives no word, and at the end."""
    shares: list[float] = []
    answers = list(known.search_progressively(folder / "film.mp4", on_progress=shares.append))
    whole = known.search(folder / "film.mp4")

    assert [4.0, 6.0, None] == [answer.read_seconds for answer in answers]
    assert whole.dancers == answers[-1].dancers
    assert whole.described() == answers[-1].described()
    assert "dance3" == answers[-1].candidates[0].dance
    assert 4.0 == answers[0].described()["read_seconds"]
    assert sorted(shares) == shares
    assert 3 == len(shares)
    assert [True] == SlowFilm.completed


def test_a_match_in_a_part_has_a_tenth_of_the_evalue(known, folder):
    """There are several parts, each of which may be an accident; a possible match is what it always is."""

    def verdicts(candidates: list[Match], most: float) -> list[str]:
        return [verdict_of(match.evalue, most) for match in candidates]

    for limit in (MAX_EVALUE, 1.0):
        *parts, whole = known.search_progressively(folder / "film.mp4", max_evalue=limit)
        for part in parts:
            found = [match.verdict for match in part.candidates]
            assert verdicts(part.candidates, PARTIAL_SHARE * limit) == found
        assert verdicts(whole.candidates, limit) == [match.verdict for match in whole.candidates]


def test_what_is_not_wanted_any_more_is_not_read(known, folder):
    with closing(known.search_progressively(folder / "film.mp4")) as answers:
        assert 4.0 == next(answers).read_seconds

    assert [False] == SlowFilm.completed


def test_a_clip_without_a_dancer_is_refused_at_its_end(folder):
    with (
        Catalogue(folder / "dances.db", make_estimator=EmptyFilm) as known,
        pytest.raises(NoDancerError, match="no person was seen"),
    ):
        list(known.search_progressively(folder / "film.mp4"))


def test_an_estimator_that_tells_nothing_before_the_end_gives_one_answer(folder):
    with Catalogue(folder / "dances.db", make_estimator=FilmedDancer) as known:
        (answer,) = known.search_progressively(folder / "film.mp4")

    assert answer.read_seconds is None
    assert "dance3" == answer.candidates[0].dance


def test_a_motion_file_gives_one_answer(known, tmp_path):
    (answer,) = known.search_progressively(write_dance(tmp_path / "query.npz", 5, dancer=4))

    assert (None, "dance5") == (answer.read_seconds, answer.candidates[0].dance)


def test_the_first_match_ends_the_reading(folder, monkeypatch):
    """The command line says how much of the clip was read; where nothing is a match all of it is."""
    monkeypatch.setattr(
        "dancematch.pipeline.catalogue.open_catalogue",
        lambda where, **options: Catalogue(where, make_estimator=SlowFilm, **options),
    )
    SlowFilm.completed.clear()
    found = run_main("search", folder / "dances.db", folder / "film.mp4", "--first", "--json")
    unfound = run_main(
        "search", folder / "dances.db", folder / "film.mp4", "--first", "--json", "--max-evalue", 0
    )
    told = run_main("search", folder / "dances.db", folder / "film.mp4", "--first")

    assert (0, "match") == (found.code, found.objects[0]["verdict"])
    assert found.objects[0]["read_seconds"] in PARTS
    assert (0, "possible match", None) == (
        unfound.code, unfound.objects[0]["verdict"], unfound.objects[0]["read_seconds"]
    )  # fmt: skip
    assert told.out.startswith("Match: dance3")
    assert f"{found.objects[0]['read_seconds']:.0f} s of " in told.err
    assert [False, True, False] == SlowFilm.completed


def test_the_first_match_is_asked_of_one_clip(folder):
    clip = folder / "film.mp4"
    answer = run_main("search", folder / "dances.db", clip, clip.parent, "--first")

    assert 2 == answer.code
    assert "--first is about one clip" in answer.err
