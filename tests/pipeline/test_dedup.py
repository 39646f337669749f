from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_samples import run_main
from dance_samples import dance, digest, recorded, write_dance
from dancematch import formats
from dancematch.motion import excerpt, mirror
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.pipeline.dedup import DuplicatePair, _group_pairs, _is_duplicate, find_duplicates
from dancematch.search.confidence.verdict import MAX_EVALUE, shipped_calibration
from dancematch.types import Span


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    """Ten dances; 2 also by another dancer, and mirrored; a part of 4."""
    folder = tmp_path_factory.mktemp("dedup")
    for number in range(10):
        write_dance(folder / "in" / f"dance{number}.npz", number)
    write_dance(folder / "in" / "two-again.npz", 2, dancer=3)
    formats.write(folder / "in" / "two-mirrored.npz", [mirror(dance(2, dancer=4))])
    formats.write(folder / "in" / "four-part.npz", [excerpt(dance(4), 2.0, 8.0)])
    run_main("add", folder / "dances.db", folder / "in", "--jobs", 1, "--collection", "one")
    return folder / "dances.db"


def pair(one: str, other: str, score: float = 1.0) -> DuplicatePair:
    return DuplicatePair(one, other, score, 3.0, 0.0, False, 1.0, Span(0, 1), Span(0, 1))


def test_the_same_dances_are_found_however_they_were_changed(db):
    answer = run_main("dedup", db, "--json")
    groups = [set(line["dances"]) for line in answer.objects]

    assert 0 == answer.code
    assert [{"dance2", "two-again", "two-mirrored"}, {"dance4", "four-part"}] == groups


def test_a_pair_says_where_and_how(db):
    _, part = run_main("dedup", db, "--json").objects
    (found,) = part["pairs"]

    assert ("dance4", "four-part", False) == (found["one"], found["other"], found["mirrored"])
    assert 2.0 == pytest.approx(found["in_one"]["start"] - found["in_other"]["start"], abs=0.3)


def test_each_pair_comes_once_and_mirrored_ones_are_called_so(db):
    with open_catalogue(db, create=False) as known:
        first, *_ = find_duplicates(known)
    pairs = {(found.one, found.other): found for found in first.pairs}

    assert len(pairs) == len(first.pairs)
    assert all(one < other for one, other in pairs)
    assert pairs["dance2", "two-mirrored"].mirrored
    assert not pairs["dance2", "two-again"].mirrored


def test_the_evalue_is_for_all_pairs_of_the_catalogue(db):
    """As many searches are made as there are recordings: 13, each among the 12 other dances."""
    with open_catalogue(db, create=False) as known:
        pairs = [found for group in find_duplicates(known) for found in group.pairs]

    for found in pairs:
        assert found.evalue == pytest.approx(13 * 12 * 10**-found.log_ratio, rel=1e-3)
        assert found.evalue <= MAX_EVALUE


def test_copies_are_named_in_a_catalogue_of_any_size():
    """Among a million dances no ratio that can be said gives a small E-value; the largest one is enough."""
    most = shipped_calibration().most
    copies = replace(pair("a", "b"), log_ratio=most, evalue=1e12 * 10**-most)

    assert _is_duplicate(copies, MAX_EVALUE)
    assert not _is_duplicate(replace(copies, log_ratio=most - 0.1), MAX_EVALUE)


def test_nothing_is_removed(db):
    before = run_main("list", db).out
    run_main("dedup", db)

    assert before == run_main("list", db).out


def test_a_catalogue_without_duplicates_is_no_match(tmp_path):
    for number in range(10):
        write_dance(tmp_path / "in" / f"dance{number}.npz", number)
    run_main("add", tmp_path / "dances.db", tmp_path / "in", "--jobs", 1)
    answer = run_main("dedup", tmp_path / "dances.db")

    assert (3, "") == (answer.code, answer.out)
    assert "10 dance(s) compared" in answer.err


def test_recordings_of_one_dance_are_no_pair(tmp_path):
    """Said to be one, they are not searched for among each other; another dance is paired with it once."""
    with open_catalogue(tmp_path / "dances.db") as known:
        for number in range(8):
            known.learn(recorded(f"dance{number}", "x.npz", digest(number)), [dance(number)])
        for dancer in (3, 4):
            known.learn(
                recorded("dance2", f"{dancer}.npz", digest(f"by {dancer}")), [dance(2, dancer)], join=True
            )
        alone = find_duplicates(known)
        known.learn(recorded("copy", "copy.npz", digest("copy")), [dance(2, 5)])
        (group,) = find_duplicates(known)

    assert [] == alone
    assert ("copy", "dance2") == group.dances
    assert [("copy", "dance2")] == [(found.one, found.other) for found in group.pairs]


def test_only_pairs_as_alike_as_wanted(db):
    scores = [found["score"] for line in run_main("dedup", db, "--json").objects for found in line["pairs"]]
    least = float(np.median(scores))
    kept = run_main("dedup", db, "--json", "--min-score", least).objects

    assert sum(score >= least for score in scores) == sum(len(line["pairs"]) for line in kept)


def test_a_collection_that_is_not_there_is_called_so(db):
    """By every verb that looks for dances of it, in the same words."""
    assert (
        "has the collection 'two'; 'dancematch list' names all"
        in run_main("dedup", db, "--collection", "two").complaint
    )
    assert "has the label 'two'" in run_main("dedup", db, "--label", "two").complaint
    assert (1, "") == run_main("dedup", db, "--label", "two", "--json")[:2]
    assert 0 == run_main("dedup", db, "--collection", "one").code


def test_a_table_is_shown(db):
    answer = run_main("dedup", db)

    assert "3 dances look like one: dance2, two-again, two-mirrored" in answer.out
    assert "2 group(s) that look like one dance" in answer.err
    assert f"Merge them: dancematch edit {db} two-again two-mirrored --merge-into dance2" in answer.out


def test_no_catalogue_is_one_sentence(tmp_path):
    answer = run_main("dedup", tmp_path / "none.db")

    assert (1, "", 1) == (answer.code, answer.out, len(answer.err.splitlines()))


NAMES = st.sampled_from("abcdefghij")


@given(st.sets(st.tuples(NAMES, NAMES).filter(lambda two: two[0] < two[1]), max_size=12))
def test_groups_are_what_pairs_connect(edges):
    """Written out: whoever can be reached from somebody is in the same group, and nobody else."""
    pairs = [pair(*edge) for edge in sorted(edges)]
    groups = _group_pairs(pairs)
    reach = {name: {name} for edge in edges for name in edge}
    for _ in range(10):
        for one, other in edges:
            reach[one] = reach[other] = reach[one] | reach[other]
            for name in reach[one]:
                reach[name] = reach[one]

    assert {frozenset(names) for names in reach.values()} == {frozenset(group.dances) for group in groups}
    assert len(pairs) == sum(len(group.pairs) for group in groups)
    sizes = [len(group.dances) for group in groups]
    assert sorted(sizes, reverse=True) == sizes
