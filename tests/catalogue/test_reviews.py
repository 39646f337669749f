import json
from dataclasses import replace

import pytest

from dance_samples import MODEL, digest
from dancematch.catalogue.review_records import Recalibration
from dancematch.catalogue.reviews import ReviewStore
from dancematch.catalogue.store import Store
from dancematch.catalogue.transfer.copying import copy_catalogue
from dancematch.catalogue.verify import find_problems
from dancematch.errors import CatalogueError, InputError, UnknownDanceError, UnknownReviewError
from databases import run_sql
from review_samples import RECORDINGS, fill_store, possible

NOW = "2026-11-17T12:00:00+00:00"


@pytest.fixture
def store(address):
    store = fill_store(address)
    yield store
    store.close()


@pytest.fixture
def reviews(store) -> ReviewStore:
    return ReviewStore(store)


def test_a_possible_match_waits_with_all_that_the_search_said(reviews):
    new = possible("phone", "tango", dancer=2, mirrored=True, tempo=1.1, offset=0.25)

    assert 1 == reviews.add([new])
    (found,) = reviews.read()
    said = {name: value for name, value in vars(new).items() if name != "recording_id"}
    assert said == {name: getattr(found, name) for name in said}
    assert ("tango", "tango.mp4", RECORDINGS["tango"]) == (found.dance, found.recording, found.recording_id)
    assert (None, None, None, None) == (found.decision, found.decided_by, found.decided, found.note)
    assert found.asked.endswith("+00:00")


def test_asked_again_numbers_are_replaced_while_it_waits_and_kept_once_it_is_decided(reviews):
    reviews.add([possible("phone", evalue=0.3)])
    (first,) = reviews.read()
    assert 1 == reviews.add([possible("phone", evalue=0.1)])
    (again,) = reviews.read()
    assert (first.review_id, 0.1) == (again.review_id, again.evalue)

    reviews.decide(first.review_id, "confirmed", "Anna")
    assert 0 == reviews.add([possible("phone", evalue=0.9)])
    (kept,) = reviews.read("all")
    assert (0.1, "confirmed") == (kept.evalue, kept.decision)


def test_there_is_one_review_per_clip_dancer_and_recording(reviews):
    several = [possible("a"), possible("a", dancer=2), possible("a", "tango"), possible("b"), possible("a")]

    reviews.add(several)

    assert 4 == len(reviews.read()) == reviews.count_waiting()


def test_a_decision_is_kept_with_who_when_and_why_and_can_be_taken_back(reviews):
    reviews.add([possible("a"), possible("b"), possible("c")])
    ids = [one.review_id for one in reviews.read()]

    decided = reviews.decide(ids[0], "changed", "Anna", "only the arms")
    reviews.decide(ids[1][:6], "rejected", "Ben")

    assert ("changed", "Anna", "only the arms") == (decided.decision, decided.decided_by, decided.note)
    assert decided.decided.endswith("+00:00")
    assert decided == reviews.find(ids[0])
    assert [ids[2]] == [one.review_id for one in reviews.read("waiting")]
    assert ids[:2] == [one.review_id for one in reviews.read("decided")]

    opened = reviews.decide(ids[0], None)
    assert (None, None, None, None) == (opened.decision, opened.decided_by, opened.decided, opened.note)
    assert 2 == reviews.count_waiting()


def test_a_list_is_read_by_dance_by_clip_and_page_by_page(reviews):
    reviews.add([possible("a"), possible("b", "tango"), possible("c"), possible("d")])
    ids = {one.query_file: one.review_id for one in reviews.read()}

    assert ["b.mp4"] == [one.query_file for one in reviews.read(dance="tango")]
    assert ["c.mp4"] == [one.query_file for one in reviews.read(query_id=digest("c"))]
    page = reviews.read(after=ids["a.mp4"], limit=2)
    assert ["b.mp4", "c.mp4"] == [one.query_file for one in page]
    with pytest.raises(UnknownDanceError):
        reviews.read(dance="polka")


def test_a_review_is_erased_with_its_recording_and_none_is_kept_of_a_removed_one(store, reviews):
    reviews.add([possible("a"), possible("b", "tango")])
    store.remove_recordings([RECORDINGS["waltz"]])

    assert 0 == reviews.add([possible("c")])
    assert ["tango"] == [one.dance for one in reviews.read("all")]
    assert [] == list(find_problems(store))


def test_what_is_no_decision_or_no_name_is_refused_in_a_sentence(reviews):
    reviews.add([possible("a")])
    (one,) = reviews.read()

    with pytest.raises(InputError, match="a decision is one of confirmed, rejected, changed, got 'perhaps'"):
        reviews.decide(one.review_id, "perhaps", "Anna")
    with pytest.raises(InputError, match="who made it"):
        reviews.decide(one.review_id, "confirmed")
    with pytest.raises(InputError, match="without control characters"):
        reviews.decide(one.review_id, "confirmed", "An\x1bna")
    with pytest.raises(InputError, match="a note has at most 1000 characters"):
        reviews.decide(one.review_id, "confirmed", "Anna", "x" * 1001)
    with pytest.raises(UnknownReviewError, match="has no review 'rffff'"):
        reviews.decide("rffff", "confirmed", "Anna")
    with pytest.raises(UnknownReviewError):
        reviews.find(one.review_id[:3])  # too short to name one
    with pytest.raises(InputError, match="was not put on the list"):
        reviews.add([replace(possible("a"), evalue=float("nan"))])
    assert one == reviews.find(one.review_id)


def test_a_beginning_that_several_ids_share_is_refused(reviews, address):
    reviews.add([possible("a"), possible("b")])
    run_sql(address, "UPDATE reviews SET review_id = 'rabcd' || substr(review_id, 6)")

    with pytest.raises(InputError, match=r"the ids of 2 reviews in .* begin with 'rabcd'"):
        reviews.find("rabcd")


def test_the_recalibration_is_kept_counted_as_a_change_and_taken_back(store, reviews):
    before, wanted = store.generation, Recalibration(0.4, 23, NOW, "Anna")

    assert reviews.recalibration is None
    reviews.recalibrate(wanted)
    assert wanted == reviews.recalibration
    assert before + 1 == store.generation
    reviews.recalibrate(None)
    assert reviews.recalibration is None
    with pytest.raises(InputError, match=r"shifted by 2 decades at most, got 2\.5"):
        reviews.recalibrate(replace(wanted, offset=2.5))


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"offset": 9, "reviews": 3, "fitted": "2020", "by": "A"}']
)
def test_a_damaged_recalibration_is_an_error_that_doctor_finds(store, reviews, address, text):
    run_sql(address, f"UPDATE facts SET value = '{text}' WHERE name = 'recalibration'")  # noqa: S608

    with pytest.raises(CatalogueError, match=r"recalibration of .* is damaged.*--refit --reset"):
        _ = reviews.recalibration
    (problem,) = find_problems(store)
    assert problem.problem.startswith("the recalibration is damaged")
    reviews.recalibrate(None)
    assert [] == list(find_problems(store))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("query_id = 'abc'", "a clip's hash is the 64 hex digits"),
        ("decision = 'perhaps', decided = '2020-01-01', decided_by = 'A'", "a decision is one of"),
        ("note = 'why'", "a review that waits has no name"),
        ("evalue = 0", "the E-value of a review is 0"),
        ("query_end = 0", "a review's time in the query ends before it starts"),
        ("verdict = 'sure'", "a verdict is one of"),
    ],
)
def test_doctor_finds_values_that_the_gate_would_refuse(store, reviews, address, change, expected):
    reviews.add([possible("a")])
    run_sql(address, f"UPDATE reviews SET {change}")  # noqa: S608

    (problem,) = find_problems(store)

    assert "waltz" == problem.dance
    assert problem.problem.startswith(expected)


def test_a_copy_carries_reviews_to_databases_and_plain_folders(address, reviews, tmp_path):
    """Ids, numbers and decisions; a recalibration stays, since the copy may join other dances."""
    reviews.add([possible("a", mirrored=True), possible("b", "tango", tempo=1.2)])
    reviews.decide(reviews.read()[0].review_id, "rejected", "Ünï", "=1+1")
    reviews.recalibrate(Recalibration(0.4, 23, NOW, "Anna"))

    plain = f"{tmp_path}/plain/"
    for source, target in (
        (address, f"{tmp_path}/copy.db"), (address, plain), (plain, f"{tmp_path}/again.db"),
    ):  # fmt: skip
        assert 3 == sum(one.verified for one in copy_catalogue(source, target))

    for name in ("copy.db", "again.db"):
        copy = Store(tmp_path / name, MODEL, create=False)
        assert reviews.read("all") == sorted(ReviewStore(copy).read("all"), key=lambda one: one.query_file)
        assert ReviewStore(copy).recalibration is None
        assert [] == list(find_problems(copy))
        copy.close()


def test_a_folder_with_a_damaged_review_is_reported_and_the_rest_is_copied(tmp_path):
    store = fill_store(str(tmp_path / "dances.db"))
    ReviewStore(store).add([possible("a")])
    store.close()
    list(copy_catalogue(tmp_path / "dances.db", f"{tmp_path}/plain/"))
    lines = tmp_path / "plain" / "recordings.jsonl"
    rows = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    damaged = next(row for row in rows if row["reviews"])
    damaged["reviews"] *= 2
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    failed = {}
    for one in copy_catalogue(f"{tmp_path}/plain/", tmp_path / "again.db"):
        failed |= one.failed

    assert {"waltz (waltz.mp4)": "two reviews are about the same dancer of one clip"} == failed
