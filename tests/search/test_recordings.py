"""A dance with several recordings: which of them are compared, and what they say together."""

from collections import Counter
from dataclasses import replace
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dance_samples import dance, random_words, shipped, shipped_background, toy_codebook, words
from dancematch.search.confidence.pooling import pool_log_ratios
from dancematch.search.confidence.verdict import evalue_of, verdict_of
from dancematch.search.engine import Engine, Query
from dancematch.search.settings import ALL_DANCES, DEFAULT_SETTINGS, SETTINGS, DanceFilter
from dancematch.search.stage1 import shortlist
from dancematch.search.stage1.dance_limit import within_limit
from dancematch.search.stage2.variant import Variant
from dancematch.tracks import KnownTrack
from dancematch.types import BONE_NUMBERS, Fingerprint

CODEBOOK = toy_codebook()
BACKGROUND = [random_words(12, 900 + number) for number in range(25)]


def moving(steps: int, seed: int) -> Fingerprint:
    """Random words, and bones that point anywhere."""
    bones = np.random.default_rng(seed).integers(-60, 60, (steps, BONE_NUMBERS)).astype(np.int8)
    return replace(random_words(steps, seed), bones=bones)


def recordings_of(counts: list[int], seed: int) -> list[KnownTrack]:
    """Dances with so many recordings each, of one dancer or two; some are long enough for windows."""
    rng, tracks = np.random.default_rng(seed), []
    places = [(number, place) for number, count in enumerate(counts) for place in range(count)]
    for number, place in (places[at] for at in rng.permutation(len(places)).tolist()):
        for dancer in range(1, int(rng.integers(2, 4))):
            made = moving(int(rng.integers(6, 30)), int(rng.integers(1 << 30)))
            tracks.append(
                KnownTrack(len(tracks), f"dance {number}", dancer, made, recording_key=100 * number + place)
            )
    return tracks


def engine(tracks: list[KnownTrack]) -> Engine:
    made = Engine(CODEBOOK, background=BACKGROUND)
    made.add(tracks)
    return made


def asked(seed: int) -> list[Query]:
    return [Query(moving(15, seed)), Query(moving(15, seed + 1), mirrored=True)]


def variants_of(made: Engine, queries: list[Query]) -> list[Variant]:
    statistics = made.search_state().statistics
    return [Variant(query.fingerprint, CODEBOOK, statistics) for query in queries]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=40),
    st.one_of(st.none(), st.integers(1, 4)),
)
def test_the_first_recordings_of_each_dance_are_within_the_limit(rows, limit):
    """A row counts if its recording is among the first of its dance, as a plain count says."""
    seen: dict[int, list[int]] = {}
    expected = []
    for number, recording in rows:
        own = seen.setdefault(number, [])
        if recording not in own:
            own.append(recording)
        expected.append(limit is None or own.index(recording) < limit)
    dances = np.array([number for number, _ in rows], int)
    recordings = np.array([10 * number + recording for number, recording in rows], int)

    assert expected == within_limit(dances, recordings, limit).tolist()


def best_of_recordings(made: Engine, variants: list[Variant]) -> dict[tuple[int, int], float]:
    """The score of the best entry per dance and recording, looking at every entry."""
    index, best = made.index, {}
    for variant in variants:
        top = index.columns.scores(variant.counts, variant.seen)
        tracks = index.entries.bounds(top.rows).tracks
        for track, score in zip(tracks.tolist(), top.scores.tolist(), strict=True):
            if track >= 0:
                fact = index.entries.facts[track]
                pair = int(fact["dance"]), int(fact["recording"])
                best[pair] = max(best.get(pair, -1.0), score)
    return best


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    counts=st.lists(st.sampled_from([1, 1, 2, 3, 7, 40]), min_size=1, max_size=40),
    cap=st.sampled_from([1, 3, 8, 30]),
    seed=st.integers(0, 1000),
)
def test_the_shortlist_has_the_most_similar_recordings_and_few_of_one_dance(monkeypatch, counts, cap, seed):
    """As looking at every entry and counting by hand says; each by its most similar entry."""
    monkeypatch.setattr("dancematch.search.settings.CAP", cap)
    made = engine(recordings_of(counts, seed))
    variants = variants_of(made, asked(seed))
    best = best_of_recordings(made, variants)
    taken, used = [], Counter[int]()
    for (number, _), score in sorted(best.items(), key=lambda one: (-one[1], one[0][1])):
        if used[number] < 4 and len(taken) < cap:
            used[number] += 1
            taken.append(score)
    source = shortlist.LocalCandidates(made.index, variants, ALL_DANCES, 4)
    proposal = shortlist.shortlist_recordings(source, len(variants), DEFAULT_SETTINGS)
    tracks = [made.index.entries.bounds(entries).tracks for entries in proposal.entries]
    facts = made.index.entries.facts[tracks[0]]
    pairs = list(zip(facts["dance"].tolist(), facts["recording"].tolist(), strict=True))

    assert taken == [best[pair] for pair in pairs]
    assert len(pairs) == len(set(pairs))
    assert max(Counter(number for number, _ in pairs).values()) <= 4
    assert all(
        facts["recording"].tolist() == made.index.entries.recordings_of(own).tolist() for own in tracks
    )


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(counts=st.lists(st.sampled_from([1, 2, 9, 60]), min_size=1, max_size=12), seed=st.integers(0, 1000))
def test_no_dance_takes_all_the_places_of_trigrams_and_synchrony(monkeypatch, counts, seed):
    """The first tracks of the whole order that are within the limit, and as many as there are places."""
    monkeypatch.setattr(shortlist, "PROPOSED_TRACKS", 6)
    made = engine(recordings_of(counts, seed))
    variants = variants_of(made, asked(seed))
    limited = shortlist.LocalCandidates(made.index, variants, ALL_DANCES, 2)
    monkeypatch.setattr(shortlist, "PROPOSED_TRACKS", 10_000)
    whole = shortlist.LocalCandidates(made.index, variants, ALL_DANCES, None)
    every = [*whole.segments_by_trigrams(), *whole.segments_by_synchrony()]
    monkeypatch.setattr(shortlist, "PROPOSED_TRACKS", 6)
    few = [*limited.segments_by_trigrams(), *limited.segments_by_synchrony()]

    for some, all_of_them in zip(few, every, strict=True):
        allowed = within_limit(all_of_them.dances, all_of_them.recordings, 2)
        assert all_of_them.tracks[allowed][:6].tolist() == some.tracks.tolist()


def test_a_dance_with_many_recordings_leaves_room_for_others(monkeypatch):
    """Fifty recordings nearly like the query, ten places: four for these, six for other dances."""
    monkeypatch.setattr("dancematch.search.settings.CAP", 10)
    monkeypatch.setattr(shortlist, "PROPOSED_TRACKS", 1)
    rng, base = np.random.default_rng(3), random_words(40, 1)
    copies = []
    for _ in range(50):
        changed = base.words.copy()
        changed[rng.integers(40, size=4)] = rng.integers(8, size=(4, 2))
        copies.append(("many", words(changed)))
    others = [(f"other {number}", random_words(40, 50 + number)) for number in range(40)]
    found = Engine(CODEBOOK, [*others, *copies], background=BACKGROUND).search([Query(base)], limit=50)

    assert "many" == found[0].dance_id
    assert 4 == len(found[0].recordings)
    assert 7 <= len(found) <= 8  # and one that three words in a row add


@pytest.mark.parametrize(("rule", "scored"), [("all", 6), ("paper", 6), ("capped", 4)])
def test_only_the_capped_shortlist_limits_the_recordings_of_a_dance(rule, scored):
    dances = [("many", random_words(20, number)) for number in range(6)]
    made = Engine(CODEBOOK, dances, background=BACKGROUND)
    found = made.search([Query(random_words(20, 2))], settings=replace(DEFAULT_SETTINGS, shortlist=rule))

    assert [("many", scored)] == [(match.dance_id, len(match.recordings)) for match in found]


RATIOS = st.lists(st.floats(-4, 8), min_size=1, max_size=8)


@given(RATIOS)
def test_every_rule_stays_between_the_least_and_the_largest_ratio(ratios):
    """From geometric to maximum each rule gives at least as much as the one before."""
    pooled = [pool_log_ratios(ratios, rule) for rule in ("geometric", "mean of roots", "mean", "maximum")]

    assert all(after >= before - 1e-9 for before, after in pairwise(pooled))
    assert min(ratios) - 1e-9 <= pooled[0]
    assert max(ratios) == pooled[-1]


@given(st.floats(-4, 8), st.sampled_from(["geometric", "mean of roots", "mean", "maximum"]))
def test_one_recording_has_its_own_ratio_to_the_last_digit(ratio, rule):
    assert ratio == pool_log_ratios([ratio], rule)


def test_pooled_ratios_are_those_of_the_formulas():
    """Ratios 1 and 100: the mean is 50.5, the squared mean of the roots 30.25, the geometric mean 10."""
    expected = {"mean": 50.5, "mean of roots": 30.25, "geometric": 10.0}

    assert pytest.approx(expected) == {rule: 10 ** pool_log_ratios([0.0, 2.0], rule) for rule in expected}


def performed(number: int, dancer: int) -> Fingerprint:
    return shipped().fingerprint(dance(number, dancer=dancer, eight_counts=4))


def known_dances() -> Engine:
    """Three dances by two or three dancers each, each a recording of its own."""
    dances = [(f"dance{n}", performed(n, dancer)) for n in range(3) for dancer in range(1, 4 - n % 2)]
    return Engine(shipped().codebook, dances, background=shipped_background())


def test_a_dance_comes_once_with_the_pooled_ratio_of_its_recordings():
    """One match per dance, placed in the best recording; verdict and E-value are of the pooled ratio."""
    found = known_dances().search([Query(performed(1, 5))])

    assert {"dance0": 3, "dance1": 2, "dance2": 3} == {one.dance_id: len(one.recordings) for one in found}
    assert "dance1" == found[0].dance_id
    for match in found:
        best, ratios = match.recordings[0], [one.log_ratio for one in match.recordings]
        assert pool_log_ratios(ratios) == match.log_ratio
        assert sorted(ratios, reverse=True) == ratios
        assert (evalue_of(match.log_ratio, 3), verdict_of(match.evalue)) == (match.evalue, match.verdict)
        said = (match.track, match.reference, match.query, match.tempo, match.score, match.mirrored)
        assert said == (best.track, best.reference, best.query, best.tempo, best.score, best.mirrored)
    assert sorted((one.log_ratio for one in found), reverse=True) == [one.log_ratio for one in found]


def test_ranking_by_score_pools_nothing():
    """As the paper ranks: the score and the ratio of the best recording alone."""
    found = known_dances().search([Query(performed(1, 5))], settings=SETTINGS["paper"])

    assert 2 == len(found[0].recordings)
    assert all(match.log_ratio == match.recordings[0].log_ratio for match in found)
    assert all(match.score == max(one.score for one in match.recordings) for match in found)


def test_dancers_of_one_recording_are_not_pooled():
    """Two dancers of one recording: the better one is the recording's."""
    tracks = [KnownTrack(n, "duet", n + 1, performed(n, 1), recording_key=7) for n in range(2)]
    made = Engine(shipped().codebook, background=shipped_background())
    made.add(tracks)
    (found,) = made.search([Query(performed(1, 2))])

    assert (1, 2, 1) == (len(found.recordings), found.reference_dancer, found.track)
    assert found.recordings[0].log_ratio == found.log_ratio


def test_recordings_of_a_dance_are_not_in_its_null_cohort():
    """The cohort is the background and nothing else: further recordings change no null score.

    Word statistics are held the same, since they count all entries.
    """
    query, first = Query(performed(1, 5)), ("dance1", performed(1, 1))
    several = [first, ("dance1", performed(1, 2)), ("dance1", performed(1, 3))]
    alone, many = (
        Engine(shipped().codebook, dances, background=shipped_background()) for dances in ([first], several)
    )
    alone.weigh_among(many.usage())
    one, other = (made.score_dance(query, "dance1") for made in (alone, many))

    assert len(shipped_background()) == len(one.null) == len(other.null)
    for name in ("histograms", "strengths"):
        assert np.array_equal(getattr(one.null, name), getattr(other.null, name))
    assert one.words.parts["histogram"][0] == other.words.parts["histogram"][0]


def test_equal_dances_come_in_the_order_of_their_tracks():
    """Whatever their ids, which are random."""
    same = random_words(20, 1)
    made = Engine(CODEBOOK, [("b", same), ("c", same), ("a", same)])

    assert ["b", "c", "a"] == [match.dance_id for match in made.search([Query(same)])]


def test_a_label_is_found_among_several():
    made = Engine(CODEBOOK, background=BACKGROUND)
    labels = [("waltz", "slow"), ("slow",), (), ("waltz",), ("slow", "waltz")]
    made.add([KnownTrack(n, str(n), 1, random_words(20, n), labels=own) for n, own in enumerate(labels)])

    def found(label: str) -> set[str]:
        return {match.dance_id for match in made.search(asked(1), only=DanceFilter(label=label))}

    assert [{"0", "3", "4"}, {"0", "1", "4"}, set()] == [found(one) for one in ("waltz", "slow", "tango")]
    made.add([KnownTrack(9, "9", 1, random_words(20, 9), labels=("tango", "waltz"))])
    assert [{"9"}, {"0", "3", "4", "9"}] == [found("tango"), found("waltz")]


def answers(made: Engine) -> list:
    return [made.search(asked(seed), limit=30, only=only) for seed in range(3) for only in FILTERS]


FILTERS = (ALL_DANCES, DanceFilter(label="odd"), DanceFilter(collection="some"))


def test_recordings_and_labels_are_kept_in_the_index_cache(tmp_path, monkeypatch):
    """Opened again, more recordings of old dances come and go as in the engine that was saved."""
    monkeypatch.setattr("dancematch.search.settings.CAP", 8)
    tracks = [
        replace(
            one,
            labels=("all", "odd") if one.recording_key // 100 % 2 else ("all",),
            collection="some" if one.recording_key < 500 else None,
        )
        for one in recordings_of([6, 1, 3, 1, 8, 2, 1, 5], 4)
    ]
    later = [one for one in tracks if one.recording_key % 100 == 2]
    made = engine([one for one in tracks if one not in later])
    made.save(tmp_path / "cache", "1")
    opened = Engine.load(tmp_path / "cache", "1", CODEBOOK, background=BACKGROUND)

    assert answers(made) == answers(opened)
    for one in (made, opened):
        one.add(later)
        one.remove([track.key for track in tracks if track.recording_key == 0])
    assert answers(made) == answers(opened)
    entries = opened.index.entries
    living = [track for track in tracks if track.recording_key != 0]
    per_dance = Counter(key // 100 for key, _ in groupby(sorted(one.recording_key for one in living)))
    assert (8, sum(per_dance.values())) == (entries.dances, entries.recordings)
    allowed = entries.allowed(ALL_DANCES)
    assert sum(min(4, count) for count in per_dance.values()) == entries.recordings_among(
        allowed, ALL_DANCES, 4
    )
    odd = DanceFilter(label="odd")
    assert sum(min(4, count) for number, count in per_dance.items() if number % 2) == (
        entries.recordings_among(entries.allowed(odd), odd, 4)
    )


def test_a_track_more_of_a_known_recording_is_no_recording_more():
    """Tracks may come one at a time: the key of the recording says what belongs together."""
    tracks = recordings_of([2, 3], 8)
    at_once, one_by_one = engine(tracks), engine([])
    for track in tracks:
        one_by_one.add([track])

    assert 5 == at_once.index.entries.recordings == one_by_one.index.entries.recordings
    assert answers(at_once) == answers(one_by_one)
