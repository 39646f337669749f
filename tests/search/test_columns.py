import os
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dance_samples import random_words
from dancematch.errors import CatalogueError, InputError, ModelMismatchError
from dancematch.search.stage1 import blocks, columns
from dancematch.search.stage1.columns import HistogramColumns
from dancematch.search.stage1.histogram import (
    Histograms,
    channels_seen,
    combine_channels,
    count_codes,
    word_counts,
)
from dancematch.search.words import array_folder as folder_parts
from dancematch.search.words.word_usage import add_usages

CHANNELS, VOCABULARY = 3, 7
WEIGHTINGS = ("cosine", "sqrt-idf")
SEEN = np.array([1, 0.5, 0.25], dtype=np.float32)


def some_counts(entries: int, seed: int, *, vocabulary: int = VOCABULARY) -> np.ndarray:
    """Counts with many zeros, a few large ones, channels that are not seen and entries that show nothing."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.5, (entries, CHANNELS, vocabulary))
    counts = np.where(rng.random(counts.shape) < 0.05, 255, counts)
    return np.where(rng.random((entries, CHANNELS, 1)) < 0.1, 0, counts).astype(np.uint8)


def slow_scores(known: np.ndarray, query: np.ndarray, weighting: str) -> np.ndarray:
    """What the plain histograms say: one score an entry."""
    cosines = Histograms(list(known), weighting).cosines(query)
    return combine_channels(cosines, SEEN, known.any(axis=2).T)


def slow_best(scores: np.ndarray, size: int) -> np.ndarray:
    return np.lexsort((np.arange(len(scores)), -scores))[:size]


def filled(counts: np.ndarray, weighting: str = "sqrt-idf") -> HistogramColumns:
    made = HistogramColumns(counts.shape[1], counts.shape[2], weighting)
    made.append(counts)
    return made


def same_answers(one: HistogramColumns, other: HistogramColumns, query: np.ndarray) -> bool:
    """To the last bit, entries taken in their order."""
    return np.array_equal(one.scores(query, SEEN).scores, other.scores(query, SEEN).scores)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of eight entries: whatever happens between blocks happens soon."""
    monkeypatch.setattr(columns, "ROWS", 8)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.usefixtures("small_blocks")
def test_scores_are_those_of_the_plain_histograms(weighting, seed):
    """By entry, and the best of them: over several blocks, with soft counts too."""
    known = some_counts(60, seed)
    query = some_counts(1, 100 + seed)[0] * (1 if seed % 2 else 0.5)
    made = filled(known, weighting)
    expected = slow_scores(known, query, weighting)

    np.testing.assert_allclose(expected, made.scores(query, SEEN).scores, atol=1e-5)
    found = made.top(query, SEEN, 10)
    np.testing.assert_allclose(np.sort(expected)[::-1][:10], found.scores, atol=1e-5)
    np.testing.assert_allclose(expected[found.rows], found.scores, atol=1e-5)


def test_a_full_block_is_followed_by_another():
    """More entries than a block holds, at its true size: the best are found wherever they stand."""
    rng = np.random.default_rng(0)
    known = rng.poisson(0.7, (blocks.ROWS + 700, 1, 16)).astype(np.uint8)
    made = HistogramColumns(1, 16)
    made.append(known)
    for row in (0, blocks.ROWS - 1, blocks.ROWS, len(known) - 1):
        cosines = Histograms(list(known)).cosines(known[row])
        expected = combine_channels(cosines, np.ones(1), known.any(axis=2).T)
        found = made.top(known[row], [1], 200)

        np.testing.assert_allclose(np.sort(expected)[::-1][:200], found.scores, atol=1e-5)


def test_common_words_have_dense_columns_and_rare_ones_lists():
    """From one entry in eight on; both say the same of every entry."""
    rng = np.random.default_rng(0)
    shares = np.array([0.9, 0.2, 0.125, 0.124, 0.01, 0])
    known = np.zeros((16_000, 1, 6), np.uint8)
    for word, share in enumerate(shares):
        known[rng.permutation(16_000)[: round(share * 16_000)], 0, word] = 1 + word
    made = filled(known)
    (groups, _, _, places), (rows, nibbles) = made._snapshot.blocks[0].occurrences

    assert [0, 1, 2, -1, -1, -1] == rows.tolist()
    assert [0, 0, 0, 1, 1, 0] == np.diff(groups).tolist()
    assert (3, 8000) == nibbles.shape
    assert 1984 + 160 == len(places)
    codes = np.array([4, 6, 7, 8, 9, 10])  # of one to six occurrences, in quarters
    assert ((known > 0).sum(axis=0) * codes**2).tolist() == made.word_totals().tolist()
    query = np.ones((1, 6))
    expected = combine_channels(Histograms(list(known)).cosines(query), np.ones(1), known.any(axis=2).T)
    np.testing.assert_allclose(expected, made.scores(query, [1]).scores, atol=1e-6)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_the_largest_counts_do_not_overflow(weighting):
    """Every word as often as can be, and one word alone: each is like itself, but for a little rounding."""
    known = np.full((3, CHANNELS, 512), 255, np.uint8)
    known[1, :, 1:] = 0
    known[2, :, 1:] = 1
    made = filled(known, weighting)
    for row in range(3):
        assert made.scores(known[row], SEEN).scores[row] == pytest.approx(1, abs=5e-5)


def test_equal_scores_come_in_the_order_of_their_numbers():
    known = np.repeat(some_counts(5, 3), 20, axis=0)
    scores = filled(known).scores(known[40], SEEN).scores

    for size in (1, 7, 30, 100):
        assert slow_best(scores, size).tolist() == filled(known).top(known[40], SEEN, size).rows.tolist()


CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 21)),
        st.tuples(st.just("delete"), st.floats(0, 1)),
        st.tuples(st.just("ask"), st.just(0)),
    ),
    max_size=10,
)


@given(CHANGES, st.sampled_from(WEIGHTINGS), st.integers(0, 1000))
@settings(deadline=None)
def test_any_changes_leave_what_a_fresh_build_would_be(changes, weighting, seed):
    """Bit for bit: no drift of norms or rarities, nothing left of what was deleted."""
    rng = np.random.default_rng(seed)
    query = some_counts(1, seed)[0]
    made, living = HistogramColumns(CHANNELS, VOCABULARY, weighting), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "ROWS", 8)
        for what, how_many in changes:
            if what == "append":
                added = some_counts(how_many, int(rng.integers(1000)))
                living |= dict(zip(made.append(added).tolist(), added, strict=True))
            elif what == "delete":
                doomed = [row for row in living if rng.random() < how_many]
                made.delete(doomed)
                living = {row: counts for row, counts in living.items() if row not in doomed}
            else:
                made.top(query, SEEN, 3)
    known = np.array(list(living.values()), dtype=np.uint8).reshape(-1, CHANNELS, VOCABULARY)
    fresh = filled(known, weighting)

    assert list(living) == made.rows.tolist()
    assert same_answers(fresh, made, query)
    codes = count_codes(weighting)[known].astype(int)
    assert np.array_equal((codes if weighting == "cosine" else codes**2).sum(axis=0), made.word_totals())
    best, fresh_best = made.top(query, SEEN, 5), fresh.top(query, SEEN, 5)
    assert made.rows[fresh_best.rows].tolist() == best.rows.tolist()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=6), st.integers(0, 1000))
@settings(deadline=None)
def test_parts_weigh_words_as_the_whole_does_whatever_was_asked_before(steps, seed):
    """Bit for bit, entry by entry: a part that is told what all use, after any number of changes."""
    query = some_counts(1, seed)[0]
    whole, part, other = (HistogramColumns(CHANNELS, VOCABULARY) for _ in range(3))
    rows: list[int] = []
    for number, (size, ask) in enumerate(steps):
        added = some_counts(size, seed + number)
        rows += whole.append(added).tolist()[size // 2 :]
        other.append(added[: size // 2])
        part.append(added[size // 2 :])
        if ask > 0:
            part.top(query, SEEN, 3)
        if ask > 1:
            part.weigh_among(whole.usage())
        if ask > 2:
            part.top(query, SEEN, 3)
    part.weigh_among(add_usages([part.usage(), other.usage()]))

    assert whole.scores(query, SEEN).scores[rows].tolist() == part.scores(query, SEEN).scores.tolist()


def test_what_a_change_does_not_touch_is_taken_over():
    """One entry more among many: most norms are the very arrays of before, and the old ones are let go."""
    rng = np.random.default_rng(0)
    known = rng.poisson(0.5, (4000, CHANNELS, VOCABULARY)).astype(np.uint8)
    made = filled(known)
    query = some_counts(1, 0)[0]
    made.top(query, SEEN, 1)
    before = made._snapshot.weights.norms[0]
    taken = 0
    for entry in known[:20]:
        made.append(entry[None])
        made.top(query, SEEN, 1)
        after = made._snapshot.weights.norms[0]
        taken += sum(one is other for one, other in zip(before.squares, after.squares, strict=True))
        before = after
    assert taken > 20 * CHANNELS / 2

    old = weakref.ref(made._snapshot.weights.norms[-1].inverse)
    del before, after
    made.delete(range(1000))  # all words' rarity with it
    assert old() is not None
    made.top(query, SEEN, 1)
    assert old() is None


def test_norms_from_a_folder_are_taken_over_too(tmp_path):
    """The first change after opening corrects what the folder holds, as any other change does."""
    known = np.random.default_rng(0).poisson(0.5, (4000, CHANNELS, VOCABULARY)).astype(np.uint8)
    filled(known).save(tmp_path / "cache", "1")
    opened, query = HistogramColumns.load(tmp_path / "cache", "1"), some_counts(1, 0)[0]
    kept = opened._snapshot.weights.norms[0].squares
    opened.append(known[:1])
    found = opened._snapshot.weights.norms[0].squares

    assert any(one is other for one, other in zip(kept, found, strict=True))
    assert same_answers(filled(np.concatenate([known, known[:1]])), opened, query)


@pytest.mark.usefixtures("small_blocks")
def test_deleted_entries_do_not_pile_up():
    """No block keeps more than a quarter of them, and what remains of several becomes one again."""
    made = filled(some_counts(64, 0))
    made.delete(range(0, 64, 5))
    assert all(4 * block.living >= 3 * len(block) for block in made._snapshot.blocks)

    made.delete([row for row in made.rows.tolist() if row % 16])
    assert [[16, 32, 48]] == [block.ids.tolist() for block in made._snapshot.blocks]


@pytest.mark.usefixtures("small_blocks")
def test_entries_added_one_by_one_do_not_stay_alone():
    made = HistogramColumns(CHANNELS, VOCABULARY)
    for entry in some_counts(100, 0):
        made.append(entry[None])

    assert 100 == len(made)
    assert len(made._snapshot.blocks) <= 2 * 100 / 8 + 3


def test_a_number_is_never_given_twice():
    made = filled(some_counts(4, 0))
    made.delete([3])

    assert [4, 5] == made.append(some_counts(2, 1)).tolist()
    assert [0, 1, 2, 4, 5] == made.rows.tolist()


def test_deleting_what_is_not_there_deletes_nothing():
    made = filled(some_counts(4, 0))
    made.delete([1])
    for missing in (1, 4, -1):
        with pytest.raises(InputError, match=f"there is no entry {missing};"):
            made.delete([0, missing])

    assert [0, 2, 3] == made.rows.tolist()


def test_fingerprints_are_entered_by_their_words():
    """Whole and in part visible; the answer is the engine's own stage one."""
    known = [random_words(30, seed) for seed in range(6)]
    made = HistogramColumns(2, known[0].vocabulary, model_id=known[0].model_id)
    made.append_fingerprints(known)
    query = known[2]
    cosines = Histograms([word_counts(one) for one in known]).cosines(word_counts(query))
    seen = np.stack([channels_seen(one) for one in known], axis=1)
    expected = combine_channels(cosines, channels_seen(query), seen)

    np.testing.assert_allclose(
        expected, made.scores(word_counts(query), channels_seen(query)).scores, atol=1e-5
    )
    assert [2] == made.top(word_counts(query), channels_seen(query), 1).rows.tolist()


def test_words_of_another_model_are_refused():
    with pytest.raises(ModelMismatchError, match="expected another"):
        HistogramColumns(2, 8, model_id="another").append_fingerprints([random_words(3, 0)])


def test_an_empty_store_finds_nothing():
    made = HistogramColumns(CHANNELS, VOCABULARY)
    found = made.top(some_counts(1, 0)[0], SEEN, 5)

    assert ([], []) == (found.rows.tolist(), found.scores.tolist())
    assert 0 == len(made)
    assert [] == made.append_fingerprints([]).tolist()


def test_several_queries_get_their_own_answers():
    made = filled(some_counts(50, 0))
    queries = list(some_counts(4, 1))
    for query, found in zip(queries, made.top_of_each(queries, [SEEN] * 4, 6), strict=True):
        alone = made.top(query, SEEN, 6)
        assert alone.rows.tolist() == found.rows.tolist()
        assert alone.scores.tolist() == found.scores.tolist()


@pytest.mark.parametrize("many", [2, 3, 8])
def test_several_hands_find_the_same(monkeypatch, many):
    """However blocks are shared out: the same entries, equal ones by their number, and the same scores."""
    monkeypatch.setattr("dancematch.search.stage1.columns.ROWS", 4)
    counts = some_counts(70, 0)
    counts[60:] = counts[:10]  # equals, which stand in different blocks
    made, queries = filled(counts), list(some_counts(2, 1))
    monkeypatch.setattr("dancematch.search.thread_pool.thread_count", lambda: 1)
    expected = made.top_of_each(queries, [SEEN] * 2, 25)
    monkeypatch.setattr("dancematch.search.thread_pool.thread_count", lambda: many)
    for asked in (queries, queries[:1]):
        for alone, found in zip(expected, made.top_of_each(asked, [SEEN] * len(asked), 25), strict=False):
            assert alone.rows.tolist() == found.rows.tolist()
            assert alone.scores.tolist() == found.scores.tolist()


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda made: made.append(np.zeros((1, 3, 8), np.uint8)), r"counts must be bytes \[entries, 3, 7\]"),
        (lambda made: made.append(np.zeros((1, 3, 7))), "got float64"),
        (lambda made: made.top(np.zeros((3, 8)), SEEN, 5), r"a query needs counts \[3, 7\]"),
        (lambda made: made.top(np.full((3, 7), np.nan), SEEN, 5), "must be finite"),
        (lambda made: made.top(np.full((3, 7), -1), SEEN, 5), "not below 0"),
        (lambda made: made.top(np.zeros((3, 7)), SEEN, 0), "at least one"),
        (lambda made: HistogramColumns(0, made.vocabulary), "need channels and words"),
        (lambda made: HistogramColumns(3, made.vocabulary, "magic"), "weighting must be one of"),
    ],
)
def test_what_does_not_fit_is_refused(act, message):
    with pytest.raises(InputError, match=message):
        act(HistogramColumns(CHANNELS, VOCABULARY))


@pytest.mark.usefixtures("small_blocks")
def test_readers_see_one_state_or_the_next_while_another_thread_writes():
    """Every answer read meanwhile is exactly that of some state the store went through."""
    known, query = some_counts(120, 0), some_counts(1, 1)[0]
    steps = [known[: 4 * step] for step in range(1, 31)]
    allowed = {filled(state).scores(query, SEEN).scores.tobytes() for state in steps}
    made, read, done = filled(steps[0]), [], threading.Event()

    def reading() -> None:
        while not done.is_set():
            read.append(made.scores(query, SEEN).scores.tobytes())

    readers = [threading.Thread(target=reading) for _ in range(3)]
    for reader in readers:
        reader.start()
    for step in range(1, 30):
        made.append(known[4 * step : 4 * step + 4])
        time.sleep(0.002)
    done.set()
    for reader in readers:
        reader.join()

    assert set(read) <= allowed
    assert len(set(read)) > 1


@pytest.fixture
def stored(small_blocks, tmp_path):  # noqa: ARG001  (the blocks are made small)
    """Columns with several blocks and some deleted entries, and the folder they were saved in."""
    made = HistogramColumns(CHANNELS, VOCABULARY, model_id="m")
    made.append(some_counts(60, 0))
    made.delete([3, 30, 59])
    made.save(tmp_path / "cache", "7")
    return made, tmp_path / "cache"


def test_what_was_saved_is_loaded_again(stored):
    """The answers and numbers; and it can be changed from there on."""
    made, folder = stored
    loaded, query = HistogramColumns.load(folder, "7"), some_counts(1, 5)[0]

    assert same_answers(made, loaded, query)
    assert made.rows.tolist() == loaded.rows.tolist()
    assert ("m", "sqrt-idf") == (loaded.model_id, loaded.weighting)
    for store in (made, loaded):
        assert [60] == store.append(some_counts(1, 9)).tolist()
        store.delete([5, 6, 7])
    assert same_answers(made, loaded, query)


def test_an_empty_store_can_be_kept(tmp_path):
    HistogramColumns(CHANNELS, VOCABULARY).save(tmp_path / "cache", "0")

    assert 0 == len(HistogramColumns.load(tmp_path / "cache", "0"))


def test_another_state_is_not_loaded(stored, tmp_path):
    assert HistogramColumns.load(stored[1], "8") is None
    assert HistogramColumns.load(tmp_path / "nowhere", "7") is None


LARGEST = ["places", "nibbles"]
OTHERS = ["groups", "codes", "ends", "rows", "ids", "alive", "usage"]
WEIGHTS = ["squares", "inverse", "idf"]


@pytest.mark.parametrize("name", LARGEST + OTHERS + WEIGHTS)
def test_a_missing_or_short_file_counts_as_no_cache(stored, name):
    path = stored[1] / f"{name}.npy"
    whole = path.read_bytes()
    for left in (whole[:-1], whole[:20], b"", None):
        path.unlink() if left is None else path.write_bytes(left)
        assert HistogramColumns.load(stored[1], "7") is None


@pytest.mark.parametrize("name", OTHERS + WEIGHTS)
def test_a_changed_number_counts_as_no_cache(stored, name):
    path = stored[1] / f"{name}.npy"
    changed = bytearray(path.read_bytes())
    changed[-1] ^= 1
    path.write_bytes(changed)

    assert HistogramColumns.load(stored[1], "7") is None


def test_damaged_places_lead_nowhere_outside(stored, monkeypatch):
    """A file too large to be checked: the worst it can hold gives wrong scores, no broken memory."""
    monkeypatch.setattr(folder_parts, "LARGE", 0)  # else the damage would be found
    for name in LARGEST:
        path = stored[1] / f"{name}.npy"
        whole = path.read_bytes()
        path.write_bytes(whole[:128] + b"\xff" * (len(whole) - 128))
    loaded = HistogramColumns.load(stored[1], "7")

    assert 5 == len(loaded.top(some_counts(1, 0)[0], SEEN, 5).rows)
    loaded.delete([row for row in loaded.rows.tolist() if row % 2])
    for block in loaded._snapshot.blocks:  # every one was written anew
        (_, _, _, places), (_, nibbles) = block.occurrences
        assert (places < len(block)).all()
        assert len(block) % 2 == 0 or (nibbles[:, -1] < 16).all()  # nothing beyond the last entry
    assert 5 == len(loaded.top(some_counts(1, 0)[0], SEEN, 5).rows)


@pytest.mark.parametrize(
    "change", [{"format": 2}, {"blocks": [[1, 2]]}, {"channels": "x"}, {"weighting": "magic"}]
)
def test_another_format_counts_as_no_cache(stored, change):
    path = stored[1] / "columns.json"
    folder_parts.write_json(path, folder_parts.read_json(path) | change)

    assert HistogramColumns.load(stored[1], "7") is None


def test_saving_again_replaces_the_cache_alone(stored):
    """Nothing unfinished stays behind, and who has the old one open goes on with it."""
    made, folder = stored
    opened, query = HistogramColumns.load(folder, "7"), some_counts(1, 5)[0]
    before = opened.scores(query, SEEN).scores
    made.append(some_counts(3, 2))
    made.save(folder, "8")

    assert same_answers(made, HistogramColumns.load(folder, "8"), query)
    assert ["cache"] == [path.name for path in folder.parent.iterdir()]
    assert np.array_equal(before, opened.scores(query, SEEN).scores)


def test_a_folder_of_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(CatalogueError, match="holds other things"):
        filled(some_counts(2, 0)).save(tmp_path, "1")

    assert ["thesis.txt"] == [path.name for path in tmp_path.iterdir()]


KILLED = """
import os, sys
from dancematch.search.stage1 import columns_cache as columns_folder
from dancematch.search.stage1.columns import HistogramColumns

write, when = columns_folder.write_parts, int(sys.argv[2])
calls = []

def dying(path, kind, parts):
    calls.append(path)
    if len(calls) > when:
        path.write_bytes(b"half")
        os._exit(9)
    return write(path, kind, parts)

columns_folder.write_parts = dying
made = HistogramColumns.load(sys.argv[1], "7")
made.delete([0])
made.save(sys.argv[1], "8")
"""


@pytest.mark.parametrize("when", [0, 8])
def test_a_process_killed_while_saving_leaves_the_old_cache_whole(stored, when):
    """What it had begun lies beside it under another name, and the next save much later sweeps it away."""
    made, folder = stored
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder), str(when)], check=False)

    assert 9 == done.returncode
    assert HistogramColumns.load(folder, "8") is None
    assert same_answers(made, HistogramColumns.load(folder, "7"), some_counts(1, 5)[0])
    (unfinished,) = set(folder.parent.iterdir()) - {folder}
    _make_old(unfinished)
    made.save(folder, "9")
    assert [folder] == list(folder.parent.iterdir())


def _make_old(path: Path) -> None:
    long_ago = time.time() - 2 * 3600
    os.utime(path, (long_ago, long_ago))
