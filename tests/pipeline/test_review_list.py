"""What a search says becomes a review, and decisions shift what the next search says."""

import csv
from dataclasses import replace
from functools import partial

import pytest

from dance_samples import dance, digest, write_dance
from dancematch import formats
from dancematch.catalogue.review_records import Recalibration
from dancematch.catalogue.reviews import ReviewStore
from dancematch.catalogue.store import Store
from dancematch.errors import InputError
from dancematch.pipeline.answer import Answer, DancerAnswer
from dancematch.pipeline.batch_search import BatchSearch, hash_clips
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.pipeline.review_list import ReviewList, reviews_to_csv
from dancematch.pipeline.wording import recalibration_sentence
from dancematch.types import Match, RecordingMatch, Span
from review_samples import RECORDINGS, decide_many, fill_store, possible

BY = Recalibration(0.4, 23, "2026-11-17T12:00:00+00:00", "Anna")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three known dances, and a clip of one of them by another dancer."""
    folder = tmp_path_factory.mktemp("reviewed")
    with open_catalogue(folder / "dances.db") as known:
        for seed in (1, 2, 3):
            known.add(write_dance(folder / f"dance{seed}.npz", seed))
    write_dance(folder / "clip.npz", 2, dancer=4)
    return folder


@pytest.fixture
def store(tmp_path):
    store = fill_store(str(tmp_path / "dances.db"))
    yield store
    store.close()


@pytest.fixture
def reviews(store) -> ReviewList:
    return ReviewList(store)


def match_of(dance: str, evalue: float, log_ratio: float, **more) -> Match:
    span = Span(0.0, 8.0)
    one = RecordingMatch(f"{dance}.mp4", RECORDINGS[dance], 1, 1, span, span, False, 1.0, 0.5, log_ratio)
    return Match(
        f"d-{dance}", 0.5, span, span, tempo=1.0, dance=dance, recording=f"{dance}.mp4",
        recording_id=RECORDINGS[dance], log_ratio=log_ratio, evalue=evalue, recordings=(one,), **more,
    )  # fmt: skip


def answer_of(*matches: Match) -> Answer:
    """One dancer per match, each with that candidate and an unlikely one."""
    return Answer(
        tuple(
            DancerAnswer(number, Span(0.0, 8.0), (replace(match, dancer=number), match_of("salsa", 3.0, 0.0)))
            for number, match in enumerate(matches, start=1)
        )
    )


def test_each_dancer_whose_best_dance_is_possible_is_kept_and_nothing_else(reviews):
    answer = answer_of(
        match_of("waltz", 0.001, 3.5, verdict="match"),
        match_of("tango", 0.3, 1.0, verdict="possible match"),
        match_of("waltz", 2.0, 0.2),
    )

    assert 1 == reviews.keep(answer, "folder/phone.mp4", digest("phone"))
    (found,) = reviews.read()
    assert ("phone.mp4", 2, "tango", 0.0) == (found.query_file, found.dancer, found.dance, found.offset)


def test_a_recalibration_shifts_ratios_evalues_and_verdicts_and_says_so():
    """Ten dances: ratio 100 is E = 0.1, and ten times the ratio is E = 0.01, a match."""
    plain = answer_of(match_of("waltz", 0.1, 2.0, verdict="possible match"), match_of("tango", 10.0, 0.0))

    shifted = plain.recalibrate(replace(BY, offset=1.0))

    first, second = (one.candidates[0] for one in shifted.dancers)
    assert ("match", 3.0) == (first.verdict, first.log_ratio)
    assert 0.01 == pytest.approx(first.evalue)
    assert 3.0 == first.recordings[0].log_ratio
    assert ("no match", 0.0, 10.0) == (second.verdict, second.log_ratio, second.evalue)
    assert str(shifted).endswith("Verdicts are shifted by +1 decades, fitted on 23 of your reviews.")
    assert {"offset": 1.0, "reviews": 23, "fitted": BY.fitted, "by": "Anna"} == shifted.described()[
        "recalibrated"
    ]
    assert plain.described()["recalibrated"] is None
    assert "shifted" not in str(plain)


@pytest.mark.parametrize(
    ("offset", "shown"), [(0.4, "+0.4"), (-1.32, "-1.3"), (0.043, "+0.043"), (1.0, "+1")]
)
def test_the_offset_is_said_with_two_digits_that_count(offset, shown):
    sentence = f"Verdicts are shifted by {shown} decades, fitted on 23 of your reviews."

    assert sentence == recalibration_sentence(replace(BY, offset=offset))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"verdict": "match"}, True),
        ({"verdict": "no match"}, False),
        ({"mirrored": True}, False),
        ({"reference_dancer": 2}, False),
        ({"recording_id": RECORDINGS["tango"]}, False),
    ],
)
def test_a_dancer_found_in_the_very_file_is_the_same_performance(changes, expected):
    """However short the clip is; another dancer of the file is not, nor a mirrored variant."""
    found = match_of("waltz", 0.5, 1.0, verdict="possible match", reference_dancer=1)
    (dancer,) = answer_of(replace(found, **changes)).with_content(RECORDINGS["waltz"]).dancers

    assert expected is dancer.candidates[0].same_performance


@pytest.mark.parametrize("several", [False, True])
def test_a_file_that_is_known_is_told_by_its_content(folder, tmp_path, several):
    """A cut of four seconds, alone and among others; timing alone says nothing of so little."""
    short = tmp_path / "short.npz"
    formats.write(short, [dance(9)[0.0:4.0]])
    with open_catalogue(tmp_path / "dances.db") as known:
        for clip in (short, folder / "dance1.npz", folder / "dance2.npz"):
            known.add(clip)
        search = partial(known.search, max_evalue=1.0)
        if several:
            (found,) = BatchSearch(known.tokeniser, search).run(hash_clips([short]))
            answer = found.answer
        else:
            answer = search(short)
        by_motion = search(formats.read(short))
    best = answer.dancers[0].candidates[0]

    assert ("short", True) == (best.dance, best.same_performance)
    assert not by_motion.dancers[0].candidates[0].same_performance


def test_what_becomes_no_match_is_not_called_the_same_performance():
    plain = answer_of(match_of("waltz", 0.5, 1.0, verdict="possible match", same_performance=True))

    (dancer,) = plain.recalibrate(replace(BY, offset=-1.0)).dancers

    assert ("no match", False) == (dancer.verdict, dancer.candidates[0].same_performance)


def test_a_refit_is_proposed_without_a_change_kept_when_asked_for_and_taken_back(store, reviews):
    """Half of the possible matches at E = 0.05 are wrong: ratios are too large."""
    decide_many(ReviewStore(store), 12, 12, evalue=0.05)
    before = store.generation

    proposed = reviews.propose_refit()

    assert (24, 12, 0.0) == (proposed.fit.decisions, proposed.fit.same, proposed.now)
    assert -1.3 < proposed.fit.offset < -0.5
    assert proposed.fit.helps
    assert (before, None) == (store.generation, reviews.recalibration)

    assert proposed == reviews.refit("Anna")
    kept = reviews.recalibration
    assert (proposed.fit.offset, 24, "Anna") == (kept.offset, kept.reviews, kept.by)
    again = reviews.propose_refit()
    assert (proposed.fit, kept.offset) == (again.fit, again.now)  # fitted on what the search itself says
    assert () == again.changed
    reviews.reset_refit()
    assert reviews.recalibration is None


def test_a_refit_does_not_count_an_offset_twice(store, reviews):
    """A review of a search that was shifted already is fitted as it would be without."""
    found = ReviewStore(store)
    decide_many(found, 8, 8, evalue=0.2)
    plain = reviews.propose_refit().fit.offset
    for one in found.read("decided"):
        found.decide(one.review_id, None)
    found.add([possible(f"clip {number}", evalue=0.02, offset=1.0) for number in range(16)])
    for number, one in enumerate(found.read("waiting")):
        found.decide(one.review_id, "changed" if number < 8 else "rejected", "Anna")

    assert plain == reviews.propose_refit().fit.offset


def test_a_refit_names_the_decided_ones_whose_verdict_changes(store, reviews):
    decide_many(ReviewStore(store), 4, 12, evalue=0.4)

    changed = reviews.propose_refit().changed

    assert {("possible match", "no match")} == {(one.before, one.after) for one in changed}
    assert 16 == len(changed)


def test_too_few_decisions_are_refused_and_change_nothing(store, reviews):
    decide_many(ReviewStore(store), 7, 2)

    with pytest.raises(InputError, match="9 possible matches are decided, 7 of them the same dance"):
        reviews.refit("Anna")
    assert reviews.recalibration is None


def test_the_table_is_safe_in_a_spreadsheet(store, reviews):
    ReviewStore(store).add([possible("=1+1")])
    (one,) = reviews.read()
    reviews.decide(one.review_id, "changed", "@Anna", "-2")

    header, row = csv.reader(reviews_to_csv(reviews.read("all")))

    told = dict(zip(header, row, strict=True))
    assert ("'=1+1.mp4", "'@Anna", "'-2", "changed") == (
        told["query_file"], told["decided_by"], told["note"], told["decision"],
    )  # fmt: skip
    assert ("0.0", "8.0", "false", one.review_id) == (
        told["query.start"], told["query.end"], told["mirrored"], told["review_id"],
    )  # fmt: skip


def test_a_search_is_shifted_and_says_so_until_that_is_taken_back(folder):
    """The whole way: search, keep for review, shift, search again."""
    with open_catalogue(folder / "dances.db") as known:
        plain = known.search(folder / "clip.npz", max_evalue=0.0)
        assert "possible match" == plain.verdict
        assert 1 == known.keep_for_review(plain, "clip.npz", digest("clip"))
        (review,) = known.reviews.read(dance="dance2")
        assert plain.candidates[0].log_ratio == pytest.approx(review.log_ratio)

        ReviewStore(known._store).recalibrate(replace(BY, offset=-0.5))
        shifted = known.search(folder / "clip.npz", max_evalue=0.0)
        assert plain.candidates[0].log_ratio - 0.5 == pytest.approx(shifted.candidates[0].log_ratio)
        assert plain.candidates[0].evalue * 10**0.5 == pytest.approx(shifted.candidates[0].evalue)
        assert [one.dance for one in plain.candidates] == [one.dance for one in shifted.candidates]
        assert "shifted by -0.5 decades" in str(shifted)

        known.reviews.reset_refit()
        assert plain == known.search(folder / "clip.npz", max_evalue=0.0)


def test_reviews_go_along_into_the_catalogue_of_another_model(tmp_path):
    """Also on a repeated run; the recalibration, fitted on the old words, does not."""
    from dance_samples import dance, recorded, small_model
    from dancematch.pipeline.retokenise import retokenise, retokenise_into

    with open_catalogue(tmp_path / "dances.db") as known:
        known.learn(recorded("waltz", "waltz.mp4", RECORDINGS["waltz"]), [dance(1)])
        old = ReviewStore(known._store)
        old.add([possible("a"), possible("b")])
        old.decide(old.read()[0].review_id, "confirmed", "Anna")
        old.recalibrate(BY)
        expected = old.read("all")
    for _ in range(2):
        retokenise_into(tmp_path / "dances.db", tmp_path / "new.db", small_model())
    retokenise(tmp_path / "dances.db", small_model())

    for name in ("new.db", "dances.db"):
        store = Store(tmp_path / name, None, create=False)
        assert (expected, None) == (ReviewStore(store).read("all"), ReviewStore(store).recalibration)
        store.close()
