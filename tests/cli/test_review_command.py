import csv
import shutil

import pytest

from cli_samples import run_main
from dance_samples import write_dance
from dancematch.catalogue.reviews import ReviewStore
from dancematch.cli.exit_codes import ExitCode
from dancematch.pipeline.catalogue import open_catalogue
from review_samples import decide_many

CAUTIOUS = ("--max-evalue", 0, "--review")  # nothing is a match: what would be one is possible


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Two known dances, and clips of them by another dancer."""
    home = tmp_path_factory.mktemp("review")
    with open_catalogue(home / "dances.db") as known:
        for seed in (1, 2):
            known.add(write_dance(home / f"dance{seed}.npz", seed))
    for seed in (1, 2):
        write_dance(home / "clips" / f"clip{seed}.npz", seed, dancer=4)
    return home


@pytest.fixture
def dances(home, tmp_path):
    return shutil.copy(home / "dances.db", tmp_path / "dances.db")


def test_a_possible_match_is_kept_listed_decided_and_opened_again(home, dances):
    """One clip, from the search to the decision and back."""
    found = run_main("search", dances, home / "clips" / "clip1.npz", *CAUTIOUS)
    assert f"1 possible match waits for review; 'dancematch review {dances}' lists them" in found.err

    listed = run_main("review", dances)
    (one,) = run_main("review", dances, "--json").objects
    assert ExitCode.DONE == listed.code
    assert [one["review_id"], "clip1.npz,", "dance1"] == [
        listed.out.splitlines()[1].split()[place] for place in (0, 1, 3)
    ]
    assert listed.out.rstrip().endswith("waiting")

    kept = run_main(
        "review", dances, one["review_id"][:8], "--changed", "--by", "Anna", "--note", "arms only"
    )
    assert "same dance, changed by Anna on 20" in kept.out
    assert kept.out.rstrip().endswith(": arms only")
    assert "no possible match waits" in run_main("review", dances).err
    (told,) = run_main("review", dances, "--all", "--json").objects
    assert ("changed", "Anna", "arms only") == (told["decision"], told["decided_by"], told["note"])

    run_main("review", dances, one["review_id"], "--reopen")
    assert [one] == run_main("review", dances, "--json").objects


def test_the_user_decides_if_no_name_is_given(home, dances, monkeypatch):
    monkeypatch.setenv("LOGNAME", "ben")
    run_main("search", dances, home / "clips" / "clip1.npz", *CAUTIOUS)
    (one,) = run_main("review", dances, "--json").objects

    (told,) = run_main("review", dances, one["review_id"], "--reject", "--json").objects

    assert ("rejected", "ben") == (told["decision"], told["decided_by"])


def test_of_many_clips_all_possible_matches_are_kept_once(home, dances):
    for _ in range(2):
        found = run_main("search", dances, home / "clips", "--jobs", 1, *CAUTIOUS)
        assert "2 possible matches wait for review" in found.err

    assert ["clip1.npz"] == [
        one["query_file"] for one in run_main("review", dances, "--dance", "dance1", "--json").objects
    ]


def test_the_list_is_exported_as_a_table(home, dances, tmp_path):
    run_main("search", dances, home / "clips", "--jobs", 1, *CAUTIOUS)

    assert f"{tmp_path}/out.csv: 2 reviews" in run_main("review", dances, "--csv", tmp_path / "out.csv").err
    taken = run_main("review", dances, "--csv", tmp_path / "out.csv")
    assert (ExitCode.FAILED, True) == (taken.code, "exists already" in taken.complaint)
    with (tmp_path / "out.csv").open(encoding="utf-8-sig") as table:
        rows = list(csv.DictReader(table))
    assert [("clip1.npz", "dance1", ""), ("clip2.npz", "dance2", "")] == [
        (row["query_file"], row["dance"], row["decision"]) for row in rows
    ]
    assert 3 == len(run_main("review", dances, "--csv", "-").out.splitlines())


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("--confirm", "--confirm is about one review; give its ID"),
        ("r123 --confirm --reject", "--confirm and --reject are two decisions"),
        ("r123 --note x", "--note is kept with a decision"),
        ("r123 --all", "an ID names one review"),
        ("--yes", "--yes is about --refit"),
        ("--refit --yes --reset", "give one of them"),
        ("r123 --refit", "--refit is about all decisions"),
        ("r123 --confirm --by=", "--by is empty"),
        ("--csv - --json", "--csv and --json are two ways"),
    ],
)
def test_contradictions_are_wrong_usage(dances, line, complaint):
    answer = run_main("review", dances, *line.split())

    assert ExitCode.WRONG_USAGE == answer.code
    assert complaint in answer.err


def test_an_unknown_review_and_a_bad_name_are_one_sentence(home, dances):
    unknown = run_main("review", dances, "r0000", "--confirm", "--by", "A")
    assert (ExitCode.FAILED, f"{dances} has no review 'r0000'") == (unknown.code, unknown.complaint)

    run_main("search", dances, home / "clips" / "clip1.npz", *CAUTIOUS)
    (one,) = run_main("review", dances, "--json").objects
    bad = run_main("review", dances, one["review_id"], "--confirm", "--by", " ")
    assert "needs a character that can be seen" in bad.complaint


def test_a_refit_is_refused_with_too_few_decisions(dances):
    answer = run_main("review", dances, "--refit")

    assert ExitCode.FAILED == answer.code
    assert answer.complaint.startswith("0 possible matches are decided")


def test_a_refit_is_shown_then_kept_and_every_answer_says_so(home, dances):
    """Never by itself: only --yes changes a verdict, and --reset takes it back."""
    clip = home / "clips" / "clip1.npz"
    with open_catalogue(dances) as known:
        recording_id = known.recordings("dance1")[0].recording_id
        decide_many(ReviewStore(known._store), 10, 10, evalue=0.05, recording_id=recording_id)
    (plain,) = run_main("search", dances, clip, "--json").objects

    shown = run_main("review", dances, "--refit")
    assert shown.out.startswith("20 decisions, 10 of them the same dance: verdicts shift by -")
    assert "It rests on possible matches alone" in shown.out
    assert "nothing was changed" in shown.err
    assert [plain] == run_main("search", dances, clip, "--json").objects

    kept = run_main("review", dances, "--refit", "--yes", "--by", "Anna", "--json").objects[0]
    assert (True, 20) == (kept["stored"], kept["fit"]["decisions"])
    (shifted,) = run_main("search", dances, clip, "--json").objects
    assert ("Anna", 20) == (shifted["recalibrated"]["by"], shifted["recalibrated"]["reviews"])
    before, after = (one["dancers"][0]["candidates"][0]["log_ratio"] for one in (plain, shifted))
    assert kept["fit"]["offset"] == pytest.approx(after - before, abs=1e-6)
    sentence = "decades, fitted on 20 of your reviews."
    assert run_main("search", dances, clip).out.rstrip().endswith(sentence)
    assert sentence in run_main("search", dances, home / "clips", "--jobs", 1).err

    run_main("review", dances, "--refit", "--reset")
    assert [plain] == run_main("search", dances, clip, "--json").objects


def test_a_report_shows_what_was_decided_of_the_clip_and_that_verdicts_are_shifted(home, dances, tmp_path):
    clip, page = home / "clips" / "clip1.npz", tmp_path / "report.html"
    run_main("search", dances, clip, *CAUTIOUS)
    run_main("search", dances, home / "clips" / "clip2.npz", *CAUTIOUS)
    for one in run_main("review", dances, "--json").objects:
        note = f"about {one['query_file']}"
        run_main("review", dances, one["review_id"], "--confirm", "--by", "Anna", "--note", note)
    with open_catalogue(dances) as known:
        recording_id = known.recordings("dance2")[0].recording_id
        decide_many(ReviewStore(known._store), 9, 9, recording_id=recording_id)
    run_main("review", dances, "--refit", "--yes")

    (told,) = run_main("search", dances, clip, "--report", page, "--json").objects

    (decision,) = told["decisions"]
    assert decision.startswith("Reviewed: confirmed by Anna on 20")
    assert decision.endswith(": about clip1.npz")
    assert decision in page.read_text(encoding="utf-8")
    assert "fitted on 20 of your reviews." in told["headline"]
    assert 20 == told["recalibrated"]["reviews"]
    assert ["clip1.npz"] == [one["query_file"] for one in told["reviews"]]
