import inspect
import sys
from pathlib import Path

import numpy as np
import pytest

from cli_samples import run_main
from dance_samples import dance, shipped, standing, write_dance
from dancematch import formats
from dancematch.motion import change_tempo, excerpt, mirror
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.search import explain as explain_module
from dancematch.search.engine import Query
from dancematch.search.explain import SHARED_WORDS, explain
from dancematch.search.metrics.weights import write_weights
from dancematch.search.settings import DEFAULT_SETTINGS, SETTINGS
from dancematch.types import Motion

LOOPS = 5
PNG = b"\x89PNG\r\n\x1a\n"


def over_and_over(motion: Motion, times: int) -> Motion:
    """The dance, and all of it again."""
    return Motion(np.concatenate([motion.joints] * times), motion.fps, motion.skeleton)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Ten known dances of two collections, one of which repeats itself, and clips to search for."""
    folder = tmp_path_factory.mktemp("search")
    for number in range(1, 6):
        write_dance(folder / "studio" / f"dance{number}.npz", number)
        write_dance(folder / "stage" / f"dance{number + 5}.npz", number + 5)
    formats.write(folder / "loop.npz", [over_and_over(dance(20, eight_counts=1), LOOPS)])
    write_dance(folder / "again.npz", 3, dancer=4)
    write_dance(folder / "unknown.npz", 77)
    formats.write(folder / "mirrored.npz", [mirror(dance(2, dancer=4))])
    formats.write(folder / "faster.npz", [change_tempo(dance(3, dancer=4), 1.2)])
    formats.write(folder / "part.npz", [dance(20, dancer=4, eight_counts=1)])
    for collection in ("studio", "stage"):
        run_main(
            "add",
            folder / "dances.db",
            folder / collection,
            "--collection",
            collection,
            "--label",
            f"{collection} days",
            "--jobs",
            1,
        )
    run_main("add", folder / "dances.db", folder / "loop.npz", "--jobs", 1)
    run_main("extract", folder / "mirrored.npz", "--words", "-o", folder / "words.npz")
    return folder


@pytest.fixture
def db(folder) -> Path:
    return folder / "dances.db"


def names(answer) -> list[str]:
    return [line["name"] for line in answer.objects]


def candidates(answer) -> list[dict]:
    """Those of the first dancer."""
    return answer.objects[0]["dancers"][0]["candidates"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--collection", "stage"], {f"dance{n}" for n in range(6, 11)}),
        (["--label", "studio days"], {f"dance{n}" for n in range(1, 6)}),
        (["--label", "studio days", "--collection", "stage"], set()),
        (["--periodic"], {"loop"}),
        (["--no-periodic"], {f"dance{n}" for n in range(1, 11)}),
    ],
)
def test_a_search_may_be_about_some_dances_only(db, folder, options, expected):
    answer = run_main("search", db, folder / "again.npz", "--json", "--limit", 20, *options)

    assert expected == {one["dance"] for one in candidates(answer)}
    assert (0 if "dance3" in expected else 3) == answer.code


@pytest.mark.parametrize("limit", ["6", "-1", "nan", "inf"])
def test_a_limit_that_would_accept_everything_is_wrong_usage(db, tmp_path, limit):
    """It is refused before the clip is analysed."""
    answer = run_main("search", db, tmp_path / "gone.mp4", "--max-evalue", limit)

    assert (2, "") == (answer.code, answer.out)
    assert "'--max-evalue': the largest E-value of a match must be a number from 0 to 1" in answer.err


def test_nothing_to_search_among_is_no_match_and_says_so(db, folder):
    for options in ([], ["--json"]):
        answer = run_main(
            "search", db, folder / "again.npz", "--collection", "stage", "--label", "studio days", *options
        )

        assert 3 == answer.code
        assert "has no dance of that label, collection and kind" in answer.err
        assert [] == (candidates(answer) if options else answer.out.splitlines())


@pytest.mark.parametrize("what", ["label", "collection"])
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_label_or_collection_that_no_dance_has_is_an_error_before_the_work(db, tmp_path, what, options):
    """A misspelt name is no answer about the clip, which is not even analysed."""
    answer = run_main("search", db, tmp_path / "gone.mp4", f"--{what}", "garage", *options)

    assert (1, "") == (answer.code, answer.out)
    assert f"no dance in {db} has the {what} 'garage'; 'dancematch list' names all" == answer.complaint


def test_weights_come_from_a_preset_or_a_file(db, folder, tmp_path):
    """Each says what the score is made of; the file's are those that it holds."""
    own = {"histogram": 0.25, "lcss": 0.75}
    write_weights(tmp_path / "own.json", own)
    for given, expected in [
        ("default", DEFAULT_SETTINGS.weights), ("paper", SETTINGS["paper"].weights),
        (tmp_path / "own.json", own),
    ]:  # fmt: skip
        answer = run_main("search", db, folder / "again.npz", "--json", "--explain", "--weights", given)
        first = candidates(answer)[0]
        metrics = answer.objects[0]["dancers"][0]["explanation"]["metrics"]

        assert dict(expected) == {name: one["weight"] for name, one in metrics.items() if one["weight"]}
        made = sum(one["weight"] * one["overall"] for one in metrics.values())
        assert first["score"] == pytest.approx(made, abs=1e-4)


@pytest.mark.parametrize("shortlist", ["capped", "paper", "all"])
def test_every_shortlist_finds_the_dance(db, folder, shortlist):
    answer = run_main("search", db, folder / "again.npz", "--json", "--shortlist", shortlist)

    assert "dance3" == candidates(answer)[0]["dance"]


def test_weights_that_cannot_be_read_are_one_sentence(db, folder, tmp_path):
    (tmp_path / "bad.json").write_text("{}")
    for given, complaint in [(tmp_path / "gone.json", "cannot read"), (tmp_path / "bad.json", "no weights")]:
        answer = run_main("search", db, folder / "again.npz", "--weights", given)

        assert (1, "", 1) == (answer.code, answer.out, len(answer.err.splitlines()))
        assert complaint in answer.err


def test_an_explanation_is_readable(db, folder):
    answer = run_main("search", db, folder / "again.npz", "--explain")

    assert 0 == answer.code
    for sentence in (
        "histogram",
        "left arm",
        "The words that say most",
        "The passages",
        "does not repeat itself",
        "times more likely if the clip shows this dance",
        "At the same moments both move alike by",
        "The words of both are alike by",
        "not known: only ",  # how rare the best passage is
        "in counts",
    ):
        assert sentence in answer.out


def test_each_dancer_is_explained_match_or_not(db, tmp_path):
    """What words and synchrony show for the best candidate, and why that is not enough where it is not."""
    clip = tmp_path / "two.npz"
    formats.write(clip, [dance(3, dancer=4), dance(77)])
    first, second = run_main("search", db, clip, "--explain").out.split("Dancer 2, ")
    (answer,) = run_main("search", db, clip, "--explain", "--json").objects

    assert ["match", "no match"] == [one["verdict"] for one in answer["dancers"]]
    assert all({"metrics", "words", "synchrony"} <= one["explanation"].keys() for one in answer["dancers"])
    for part in (first, second):
        assert "At the same moments both move alike by" in part
        assert "The words that say most for it" in part
    assert "This is not enough" not in first
    assert "This is not enough: its E-value, " in second
    assert "a possible match has less than 1, a match 0.01 at most." in second


def test_too_little_seen_is_named_as_the_reason(db, tmp_path):
    formats.write(tmp_path / "short.npz", [excerpt(dance(3, dancer=4), 2.0, 3.8)])
    answer = run_main("search", db, tmp_path / "short.npz", "--explain")

    assert 3 == answer.code
    assert "The dancer is seen for 1.8 s; words and synchrony count from 2 s on." in answer.out


def test_json_is_one_object_also_of_a_clip_that_shows_no_dancer(db, tmp_path):
    """It has the error that goes to stderr too, with its exit code."""
    formats.write(tmp_path / "photo.npz", [standing(120)])
    for clip in (tmp_path / "photo.npz", tmp_path / "gone.mp4"):
        answer = run_main("search", db, clip, "--json")
        (found,) = answer.objects

        assert (1, clip.name, None) == (answer.code, found["clip"], found["verdict"])
        assert found["error"] == answer.complaint


def test_a_repeated_move_is_one_passage_with_several_places(db, folder):
    """The dance has the clip five times over: so do the passages, and the period is whole rounds."""
    answer = run_main("search", db, folder / "part.npz", "--json", "--explain")
    explanation = answer.objects[0]["dancers"][0]["explanation"]
    best = explanation["passages"][0]
    seconds = dance(20, eight_counts=1).seconds

    assert "loop" == candidates(answer)[0]["dance"]
    assert LOOPS == len(best)
    starts = sorted(passage["reference"]["start"] for passage in best)
    assert np.allclose(np.diff(starts), seconds, atol=0.5)
    rounds = explanation["period"]["seconds"] / seconds
    assert rounds == pytest.approx(round(rounds), abs=0.05)


def test_the_words_named_are_where_they_are_said(db):
    """Each is in the clip at the times given, and their shares are no more than all there is."""
    with open_catalogue(db, create=False) as known:
        read = Query(shipped().fingerprint(dance(3, dancer=4)))
        (match, *_) = known.engine().search([read])
        why, evidence = explain(known.engine(), read, match)

    assert 0 < len(why.words) <= SHARED_WORDS
    assert 0 < sum(word.share for word in why.words) <= 1
    for shared in why.words:
        channel = evidence.codebook.channels.index(shared.channel)
        for span in shared.query:
            step = round((span.start - read.fingerprint.start) / read.fingerprint.seconds_per_word)
            assert shared.word == read.fingerprint.words[step, channel]
    assert why.metrics["order"].overall == pytest.approx(match.parts["order"], abs=1e-5)
    assert [p for group in why.passages for p in group if p == match.passages[0]]
    assert (0, True) == (why.rarity[0].as_alike, why.rarity[0].nearest < why.rarity[0].agreement)


def test_an_explanation_goes_by_what_the_search_goes_by(db):
    """The engine's own words and their worth, through its door: nothing private of it is read."""
    with open_catalogue(db, create=False) as known:
        state = known.engine().search_state()
        dance_ids = {known.dance(name).dance_id for name in ("loop", "dance3")}

    assert dance_ids <= set(state.index.entries.names)
    assert shipped().codebook.model_id == state.codebook.model_id
    assert state.codebook.similarity.shape[:2] == state.statistics.usual.shape
    assert "engine._" not in inspect.getsource(explain_module)


@pytest.mark.parametrize("clip", ["again", "mirrored", "faster"])
def test_a_match_is_drawn(db, folder, tmp_path, clip):
    target = tmp_path / "why.png"
    answer = run_main("search", db, folder / f"{clip}.npz", "--plot", target)

    assert 0 == answer.code
    assert PNG == target.read_bytes()[:8]
    assert str(target) in answer.err


def test_a_picture_replaces_nothing_unasked(db, folder, tmp_path):
    target = tmp_path / "why.svg"
    target.write_text("mine")
    refused = run_main("search", db, folder / "again.npz", "--plot", target)

    assert (1, "mine") == (refused.code, target.read_text())
    assert "exists already" in refused.err
    assert 0 == run_main("search", db, folder / "again.npz", "--plot", target, "--force").code
    assert "<svg" in target.read_text()


def test_no_match_draws_nothing(db, folder, tmp_path):
    answer = run_main("search", db, folder / "unknown.npz", "--plot", tmp_path / "why.png", "--explain")

    assert 3 == answer.code
    assert answer.out.startswith("No match")
    assert not (tmp_path / "why.png").exists()


def test_a_picture_of_another_kind_is_refused_before_the_work(db, tmp_path):
    answer = run_main("search", db, tmp_path / "gone.mp4", "--plot", tmp_path / "why.bmp")

    assert 1 == answer.code
    assert "pictures are .png, .svg, .pdf files" in answer.err


def test_a_folder_that_takes_no_file_is_told_before_the_work(db, tmp_path):
    answer = run_main("search", db, tmp_path / "gone.mp4", "--plot", "/proc/why.png")

    assert (1, "") == (answer.code, answer.out)
    assert "/proc/why.png cannot be written: " in answer.complaint


def test_both_motions_of_a_match_are_written(db, folder, tmp_path):
    """As one moving picture and as two skeletons; not over files that are there, unless that is asked."""
    answer = run_main("search", db, folder / "faster.npz", "--motions", tmp_path / "pair")
    again = run_main("search", db, folder / "faster.npz", "--motions", tmp_path / "pair")

    assert (0, 1) == (answer.code, again.code)
    written = sorted(path.name for path in (tmp_path / "pair").iterdir())
    assert ["match.glb", "query.bvh", "reference.bvh"] == written
    assert "exists already" in again.complaint
    assert 0 == run_main("search", db, folder / "faster.npz", "--motions", tmp_path / "pair", "--force").code


def test_without_a_match_no_motions_are_written(db, folder, tmp_path):
    answer = run_main("search", db, folder / "unknown.npz", "--motions", tmp_path / "pair")

    assert (3, False) == (answer.code, (tmp_path / "pair").exists())
    assert "pair is not written: there is no match" in answer.err


def test_without_matplotlib_the_extra_is_named(db, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    answer = run_main("search", db, tmp_path / "gone.mp4", "--plot", tmp_path / "why.png")

    assert 1 == answer.code
    assert "dancematch[plot]" in answer.err


def test_words_are_searched_for_like_the_clip_they_are_of(db, folder):
    """Even mirrored: that variant is made from the motion that the words describe, and a line says so."""
    answer = run_main("search", db, folder / "words.npz", "--json")
    (first, *_) = candidates(answer)

    assert 0 == answer.code
    assert ("dance2", True) == (first["dance"], first["mirrored"])
    assert 1 == len(answer.err.splitlines())
    assert "holds words alone" in answer.err


@pytest.mark.parametrize("clip", ["words.npz", "again.npz", "mirrored.npz"])
def test_python_takes_the_clips_that_the_command_line_takes(db, folder, clip):
    """Files of words among them, with the same matches."""
    answer = run_main("search", db, folder / clip, "--json")
    with open_catalogue(db, create=False) as known:
        found = known.search(folder / clip)

    assert [(one["dance_id"], one["score"], one["mirrored"]) for one in candidates(answer)] == [
        (match.dance_id, match.score, match.mirrored) for match in found.candidates
    ]
    assert found.verdict == answer.objects[0]["verdict"]


def test_words_of_another_model_are_refused(folder, tmp_path):
    own = ("--model", "floor")
    known = tmp_path / "dances.db"
    run_main("add", known, folder / "again.npz", "--jobs", 1, *own)
    answer = run_main("search", known, folder / "words.npz", *own)

    assert (1, "", 1) == (answer.code, answer.out, len(answer.err.splitlines()))
    assert "model" in answer.err


@pytest.mark.parametrize("pattern", ["studio/*.npz", "st*/dance[12345].npz", "**/dance[1-5].npz"])
def test_a_pattern_in_quotes_is_all_that_fits_it(folder, tmp_path, pattern):
    known = tmp_path / "dances.db"
    answer = run_main("add", known, folder / pattern, "--jobs", 1, "--label", "class")
    listed = run_main("list", known, "--label", "class", "--json")

    assert (0, "5 added, 0 skipped, 0 failed") == (answer.code, answer.err.splitlines()[-1])
    assert [f"dance{n}" for n in range(1, 6)] == names(listed)


def test_a_pattern_that_nothing_fits_is_one_sentence(folder, tmp_path):
    answer = run_main("add", tmp_path / "dances.db", folder / "*.mp4", "--jobs", 1)

    assert (1, 1) == (answer.code, len(answer.err.splitlines()))
    assert "no file that fits" in answer.err
    assert not (tmp_path / "dances.db").exists()


def test_a_file_whose_name_looks_like_a_pattern_is_itself(tmp_path):
    write_dance(tmp_path / "in" / "take[1].npz", 1)
    write_dance(tmp_path / "in" / "take1.npz", 2)
    run_main("add", tmp_path / "dances.db", tmp_path / "in" / "take[1].npz", "--jobs", 1)

    assert ["take[1]"] == names(run_main("list", tmp_path / "dances.db", "--json"))


def test_a_known_clip_keeps_its_label_and_that_is_said(folder, tmp_path):
    known = tmp_path / "dances.db"
    run_main("add", known, folder / "again.npz", "--jobs", 1, "--label", "old")
    answer = run_main("add", known, folder / "again.npz", "--jobs", 1, "--label", "new")

    assert "what was known already stays as it is; 'dancematch edit' changes it" in answer.err.splitlines()
    assert ["old"] == run_main("list", known, "--json").objects[0]["labels"]
