import hashlib
import json
import math
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cli_samples import run_main
from dance_samples import LEGS, dance, hardly_moving, recorded, shipped, without, write_dance
from dancematch import formats
from dancematch.errors import UnknownDanceError
from dancematch.motion import change_tempo, excerpt, mirror
from dancematch.pipeline.catalogue import Catalogue, open_catalogue
from dancematch.pipeline.wording import ratio_words
from dancematch.pose.stills import stills_at
from dancematch.pose.track import Track
from dancematch.report.evidence import Evidence, command_for, gather_evidence, read_query_file
from dancematch.report.evidence_page import render_evidence, write_evidence
from dancematch.report.evidence_text import agreeing_spans, cautions, describe_evidence, evalue_text, headline
from dancematch.search.confidence.verdict import (
    MAX_EVALUE,
    POSSIBLE_EVALUE,
    evalue_of,
    shipped_calibration,
    verdict_of,
)
from dancematch.search.engine import Query
from dancematch.search.explain import BESIDE_SECONDS
from dancematch.search.stage2 import passage_holders as holding
from dancematch.search.stage2.passage_holders import holders
from dancematch.skeletons import BODY15
from dancematch.synthetic.rendering.renderer import render
from dancematch.types import Motion, Span
from page_samples import violations

KNOWN = 10  # dances
A4_TEXT = (673, 990)  # pixels of a page between its margins
HOSTILE = "</title><script>document.title='stolen'</script><img src=x onerror=alert(1)>{{command}}"


def joined(*parts: Motion) -> Motion:
    return Motion(np.concatenate([part.joints for part in parts]), parts[0].fps, parts[0].skeleton)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Ten known dances, and clips of some of them by another dancer."""
    folder = tmp_path_factory.mktemp("report")
    for seed in range(1, KNOWN + 1):
        write_dance(folder / "known" / f"dance{seed}.npz", seed)
    run_main("add", folder / "dances.db", folder / "known", "--jobs", 1, "--label", "studio")
    write_dance(folder / "clip.npz", 3, dancer=4)
    write_dance(folder / "unknown.npz", 77)
    formats.write(folder / "changed.npz", [mirror(change_tempo(dance(5, dancer=4), 1.2))])
    formats.write(folder / "no legs.npz", [without(dance(3, dancer=4), LEGS)])
    formats.write(folder / "short.npz", [excerpt(dance(3, dancer=4), 2.0, 4.0)])
    return folder


@pytest.fixture
def db(folder) -> Path:
    return folder / "dances.db"


@pytest.fixture(scope="module")
def known(folder):
    with open_catalogue(folder / "dances.db", create=False) as catalogue:
        yield catalogue


def evidence_of(catalogue: Catalogue, clip: Path, name: str | None = None) -> Evidence:
    query, what, footage = read_query_file(catalogue, clip)
    return gather_evidence(catalogue, query, what, dance=name, footage=footage)


@pytest.fixture(scope="module")
def found(known, folder) -> Evidence:
    """What there is to say of a clip of the third dance."""
    return evidence_of(known, folder / "clip.npz")


# ---- what it says


def test_a_report_is_of_what_a_search_finds(found, known, folder):
    """The same dance, score, times, verdict and ratio."""
    (expected, *_) = known.search(folder / "clip.npz").candidates

    assert expected == found.match
    assert ("dance3", "match") == (found.match.name, found.match.verdict)
    assert found.found
    assert headline(found).startswith("Match: seconds 0.0 to ")
    assert re.search(
        r"of clip\.npz are like seconds 0\.\d to 8\.\d of the dance dance3, not mirrored", headline(found)
    )
    assert "times more likely if the clip shows this dance than if it shows another." in headline(found)
    assert re.search(r"1 search in [\d,]+( million)? gives this by accident\.", headline(found))


def test_any_dance_can_be_asked_about(known, folder):
    """Also one that is far down the list: its E-value counts all dances that were searched."""
    every = known.search(folder / "clip.npz", limit=KNOWN).candidates
    for expected in (every[1], every[-1]):
        found = evidence_of(known, folder / "clip.npz", expected.dance_id)

        same = replace(found.match, score=expected.score, log_ratio=expected.log_ratio, parts=expected.parts)
        (one,), (other,) = found.match.recordings, expected.recordings
        same = replace(same, recordings=(replace(one, score=other.score, log_ratio=other.log_ratio),))
        assert (other.score, other.log_ratio) == pytest.approx((one.score, one.log_ratio), rel=1e-4)
        assert expected == replace(same, evalue=expected.evalue)
        assert expected.parts == pytest.approx(found.match.parts, rel=1e-5, abs=1e-6)
        assert (expected.log_ratio, expected.evalue) == pytest.approx(
            (found.match.log_ratio, found.match.evalue), rel=1e-4
        )
        assert not found.found
        assert any("The evidence for dance3 is stronger" in sentence for sentence in cautions(found))


def reported(tmp_path: Path, *arguments: object) -> dict:
    """What a report says, as JSON."""
    target = tmp_path / "reported.json"
    run_main("search", *arguments, "--report", target, "--force")
    return json.loads(target.read_text(encoding="utf-8"))


def test_no_match_is_said_first(db, folder, tmp_path):
    answer = run_main("search", db, folder / "unknown.npz", "--report", tmp_path / "report.html")

    assert 3 == answer.code
    assert answer.out.startswith("No match: unknown.npz is not shown to be the dance ")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'class="verdict none"' in page
    assert "No match: unknown.npz is not shown to be" in page


def test_mirror_and_tempo_are_named(known, folder):
    found = evidence_of(known, folder / "changed.npz")

    assert ("dance5", True) == (found.match.name, found.match.mirrored)
    assert found.match.tempo == pytest.approx(1.2, abs=0.05)
    assert re.search(r", mirrored, at 1\.\d\d times its tempo \(faster\)", headline(found))
    assert "Yes: left and right are exchanged." in render_evidence(found)


# ---- how strong it is


def test_the_evalue_is_the_dances_over_the_ratio(found, known, folder):
    """The limits of the picture are where it crosses those of the verdicts."""
    for one in (found, evidence_of(known, folder / "unknown.npz")):
        likelihood = one.likelihood

        assert (KNOWN, MAX_EVALUE) == (likelihood.dances, likelihood.max_evalue)
        assert likelihood.evalue == pytest.approx(evalue_of(likelihood.log_ratio, KNOWN))
        assert MAX_EVALUE == pytest.approx(evalue_of(likelihood.needed, KNOWN))
        assert POSSIBLE_EVALUE == pytest.approx(evalue_of(likelihood.needed_if_possible, KNOWN))
        assert len(likelihood.cohort) >= 100
        assert 5 == len(likelihood.others)


def with_ratio(found: Evidence, log_ratio: float, dances: int, max_evalue: float = MAX_EVALUE) -> Evidence:
    """The same report, had the evidence been so strong and the catalogue so large."""
    evalue = evalue_of(log_ratio, dances)
    needed = math.log10(dances / max_evalue)
    return replace(
        found,
        match=replace(
            found.match, log_ratio=log_ratio, evalue=evalue, verdict=verdict_of(evalue, max_evalue)
        ),
        likelihood=replace(
            found.likelihood, evalue=evalue, max_evalue=max_evalue, log_ratio=log_ratio, dances=dances,
            needed=needed, needed_if_possible=math.log10(dances / POSSIBLE_EVALUE),
        ),
    )  # fmt: skip


def marked(page: str, kind: str) -> float:
    """Where the picture of ratios has a mark."""
    picture = page[page.index('aria-label="Likelihood ratios of other dances"') :]
    return float(re.search(rf'<line class="{kind}" x1="([\d.]+)"', picture)[1])


@pytest.mark.parametrize("dances", [1, 10, 1000, 10**8])
@pytest.mark.parametrize("log_ratio", [-4.0, -0.5, 0.4, 1.5, 2.9, 3.2, 4.5, 7.0])
def test_the_headline_and_the_picture_agree(found, log_ratio, dances):
    """A match lies right of the limit of a match, a possible one between the two, all others left of both."""
    changed = with_ratio(found, log_ratio, dances)
    page = render_evidence(changed)
    match, limit, possible = (marked(page, kind) for kind in ("match", "limit", "possible"))
    verdict = "match" if match >= limit else "possible match" if match > possible else "no match"

    assert verdict == changed.match.verdict
    assert headline(changed).lower().startswith(verdict)


def test_the_size_of_the_catalogue_is_named_only_where_the_verdict_depends_on_it(found):
    depends = "The verdict depends on the size of the catalogue: of this dance alone it would be a match"

    assert depends not in headline(with_ratio(found, 5.0, 10))
    assert depends in headline(with_ratio(found, 2.5, 100))
    assert "of this dance alone it would be a possible match" in headline(with_ratio(found, 0.5, 100))
    assert "depends" not in headline(with_ratio(found, -1.0, 100))


def test_the_limit_may_be_any_from_0_to_1(db, folder, tmp_path):
    """Also one that no evidence meets; the widest makes no match of another dance."""
    for limit in (0, 1e-9, 1):
        found = reported(tmp_path, db, folder / "unknown.npz", "--max-evalue", limit)

        assert "no match" == found["verdict"]
    found = reported(tmp_path, db, folder / "clip.npz", "--max-evalue", 1e-9)
    assert "possible match" == found["verdict"]


@pytest.mark.parametrize(
    ("log_ratio", "expected"),
    [
        (3.7, "about 5,000 times more likely if the clip shows this dance than if it shows another."),
        (-1.72, "about 50 times less likely if the clip shows this dance than if it shows another."),
        (0.1, "about as likely if the clip shows this dance as if it shows another."),
        (6.5, "about 3 million times more likely if the clip shows this dance than if it shows another."),
    ],
)
def test_a_ratio_in_words(log_ratio, expected):
    assert f"The evidence is {expected}" == ratio_words(log_ratio)


def test_a_ratio_is_bounded_in_words():
    """By what the calibration supports: no report says more."""
    bounds = shipped_calibration()

    assert ratio_words(bounds.most).startswith("The evidence is more than ")
    assert "times less likely" in ratio_words(bounds.least)
    assert ratio_words(bounds.least).startswith("The evidence is more than ")


# ---- whether both move at the same moments


def test_synchrony_is_that_of_the_search(found):
    """The correlation that the verdict rests on, in words and as the peak of the curve."""
    peak, pictures = found.synchrony, found.pictures
    at = int(np.abs(pictures.lags - peak.lag).argmin())

    assert peak.correlation == pytest.approx(found.match.parts["synchrony"], abs=1e-3)
    assert peak.seconds == pytest.approx(found.match.parts["synchrony_seconds"], abs=1e-2)
    assert peak.correlation == pytest.approx(float(pictures.correlations[at]), abs=0.02)
    assert 0.0 == pytest.approx(peak.lag, abs=0.3)
    page = render_evidence(found)
    assert f"with a correlation of {peak.correlation:.2f}" in page
    assert 'class="curve"' in page


def test_without_skeletons_the_verdict_rests_on_words_alone(known, folder, tmp_path):
    """Of the dance or of the clip; the report says so, and draws no curve."""
    (track,) = known.tracks(["dance3"])
    bare = replace(track.fingerprint, bones=None)
    with open_catalogue(tmp_path / "dances.db") as catalogue:
        catalogue.learn_words(recorded("told", "words.npz", "0" * 64, 0.0), [bare])
        found = evidence_of(catalogue, folder / "clip.npz")

    assert found.synchrony is None
    reason = "the known dance has no skeletons."
    assert f"The verdict rests on motion words alone: {reason}" in cautions(found)
    assert " Judged by words alone: the known dance has no skeletons. " in headline(found)
    page = render_evidence(found)
    assert "Judged by words alone: the known dance has no skeletons." in page
    assert "This was not measured: the known dance has no skeletons." in page
    assert 'class="curve"' not in page


# ---- what else it says


def test_moments_are_spread_evenly_and_belong_together(found):
    times = [moment.query for moment in found.moments]

    assert 6 == len(times) == len(found.pictures.query) == len(found.pictures.reference)
    assert np.ptp(np.diff(times)) < 0.5
    assert max(abs(moment.query - moment.reference) for moment in found.moments) < 0.5


@pytest.fixture(scope="module")
def cut(folder, tmp_path_factory) -> Evidence:
    """What there is to say of a clip that leaves out the middle of a long dance."""
    place = tmp_path_factory.mktemp("cut")
    formats.write(place / "long.npz", [joined(dance(3), dance(40), dance(41), dance(5))])
    formats.write(place / "cut.npz", [joined(dance(3, dancer=4), dance(5, dancer=4))])
    shutil.copy(folder / "dances.db", place)
    with open_catalogue(place / "dances.db") as catalogue:
        catalogue.add(place / "long.npz")
        return evidence_of(catalogue, place / "cut.npz", "long")


def test_a_clip_that_leaves_out_the_middle_is_seen_as_such(cut):
    """The half that lies on the line of the match is a passage and is shown; the other one is also alike."""
    left_out = dance(40).seconds + dance(41).seconds
    late = [moment.reference - moment.query for moment in cut.moments]

    (own,), (other, *_) = cut.passages, cut.also_alike
    halves = sorted([own, other], key=lambda one: one.query.start)
    assert left_out == pytest.approx(halves[1].reference.start - halves[0].reference.end, abs=0.6)
    assert cut.covered < 0.6
    assert np.allclose(cut.match.reference.start - cut.match.query.start, late, atol=0.6)
    assert any("as when a clip is cut together" in sentence for sentence in cautions(cut))
    assert "also alike, at another place" in render_evidence(cut)


def test_every_length_in_a_report_says_what_it_is_of(found, cut):
    """Where only a part of the matching segment agrees, headline, first table and rarity tell which part."""
    (part,), page = agreeing_spans(cut), render_evidence(cut)
    told, length = f"{part.start:.1f} to {part.end:.1f}", f"{part.seconds:.1f}"

    assert "movement by movement" not in headline(found)  # all of it agrees
    whole = f"Of these {cut.match.query.seconds:.1f} seconds"
    agreement = f"by {cut.commonness.agreement:.2f} of 1"
    assert f"{whole}, {length} agree movement by movement, {agreement}: seconds {told}." in headline(cut)
    assert f"of it, movement by movement</th><td>{told} s ({length} s)</td>" in page
    assert f"The passage that agrees movement by movement, seconds {told} of the clip" in page
    assert f"over {cut.synchrony.seconds:.1f} seconds, by the bones that both show" in page
    assert "in steps of 3 seconds" in page


def test_the_page_tells_of_one_place_and_one_tempo(found):
    """Those of the match, whatever tempo a passage or the correlation alone would have."""
    page, alignment = render_evidence(found), found.pictures.alignment

    assert found.passages
    for moment in found.moments:
        assert abs(moment.reference - alignment.place(np.array(moment.query))) <= BESIDE_SECONDS
    assert [] == re.findall(r"\d times</td>|\d times its tempo", page)  # it is danced at the dance's own
    assert "as in the matching segment." in page


def test_a_tempo_is_told_as_that_of_the_match_alone(known, folder):
    found = evidence_of(known, folder / "changed.npz")

    assert {f"{found.match.tempo:.2f}"} == set(
        re.findall(r"(\d\.\d+) times its tempo", render_evidence(found))
    )


def test_what_agrees_beside_the_matching_segment_is_only_also_alike(known, folder, monkeypatch):
    """The moments shown lie where the headline says, even if words and timing agree better elsewhere."""
    answer = known.search(folder / "clip.npz")
    ((match, *others),) = (one.candidates for one in answer.dancers)
    span = match.query.end - 3
    shifted = replace(match, query=Span(0.0, span), reference=Span(3.0, 3.0 + span), tempo=1.0)
    dancer = replace(answer.dancers[0], candidates=(shifted, *others))
    monkeypatch.setattr(known, "search", lambda *_, **__: replace(answer, dancers=(dancer,)))
    found = evidence_of(known, folder / "clip.npz")
    page = render_evidence(found)

    assert () == found.passages
    assert 0.0 == found.covered
    assert all(abs(one.reference.start - one.query.start) < 1 for one in found.also_alike)
    assert np.allclose(3, [one.reference - one.query for one in found.moments], atol=BESIDE_SECONDS)
    assert 6 == len(found.moments)
    assert "evenly spaced over the matching segment" in page
    assert "also alike, at another place" in page
    assert "Not clearly. The limbs of both" in page
    assert any("No passage along the matching segment" in sentence for sentence in cautions(found))


def test_what_another_dancer_dances_is_no_doubt(known, tmp_path):
    """Two dancers side by side, each with a dance of her own: the report is about one of them."""
    formats.write(tmp_path / "two.npz", [dance(3, dancer=4), dance(5, dancer=4)])
    for name, dancer in (("dance3", 1), ("dance5", 2)):
        found = evidence_of(known, tmp_path / "two.npz", name)

        assert ("match", dancer) == (found.match.verdict, found.match.dancer)
        assert [] == found.rivals
        assert {dancer} == {one.dancer for one in found.others}
        assert not any("another dance of the catalogue" in sentence for sentence in cautions(found))


def test_the_only_dance_of_a_catalogue_is_not_called_rare(folder, tmp_path):
    run_main("add", tmp_path / "one.db", folder / "known" / "dance3.npz", "--jobs", 1)
    with open_catalogue(tmp_path / "one.db", create=False) as catalogue:
        page = render_evidence(evidence_of(catalogue, folder / "clip.npz"))

    assert 2 == page.count("There is no other dance in the catalogue to compare it with.")
    assert "of 0 " not in page
    assert "the 0 " not in page
    assert "other 0 " not in page


def test_limbs_that_are_not_seen_have_no_say(known, folder):
    found = evidence_of(known, folder / "no legs.npz")
    agreement = {limb.name: limb.agreement for limb in found.limbs}

    assert {"left leg": None, "right leg": None} == {
        name: agreement[name] for name in ("left leg", "right leg")
    }
    assert agreement["left arm"] > 0.3
    assert "Not seen in both, and so without a say: left leg, right leg." in cautions(found)


def test_limbs_follow_the_dance_more_closely_than_chance(found):
    """The angles at moments that belong together are smaller than at those that do not."""
    limbs = found.limbs

    assert ["left arm", "right arm", "torso", "left leg", "right leg"] == [limb.name for limb in limbs]
    assert all(limb.degrees < limb.unrelated for limb in limbs if limb.name.endswith("arm"))


def test_a_passage_that_another_dance_holds_too_is_not_rare(found, folder, tmp_path):
    """No other dance has the passage; once a medley holds the clip itself, one does, and it is named."""
    formats.write(tmp_path / "medley.npz", [joined(dance(3, dancer=4), dance(40))])
    rare = found.commonness
    assert ([], KNOWN - 1, "not known") == (rare.as_alike, len(rare.others), rare.rarity)
    few = f"Whether it is rare is not known: only {KNOWN - 1} other dances to compare with; 30 are needed."
    assert 2 == render_evidence(found).count(few)
    assert rare.agreement > next(iter(rare.others.values()))

    shutil.copy(folder / "dances.db", tmp_path)
    with open_catalogue(tmp_path / "dances.db") as catalogue:
        catalogue.add(tmp_path / "medley.npz")
        found = evidence_of(catalogue, folder / "clip.npz", "dance3")

    assert ["medley"] == found.commonness.as_alike
    assert 1.0 == pytest.approx(found.commonness.others["medley"], abs=0.02)
    assert f"1 of {KNOWN} other dances hold a passage at least as alike: medley." in render_evidence(found)
    assert any("medley" in sentence for sentence in cautions(found))
    assert ["dance3", "medley"] == [node.name for node in found.lineage.nodes]
    assert f"1 of {KNOWN} other dances shares passages with dance3: 1 without a date." in render_evidence(
        found
    )


def test_in_a_large_catalogue_the_likely_dances_are_looked_at(known, folder, monkeypatch):
    """They agree as they did; a dance that was asked about is among them in any case."""
    (own,) = known.read_query(folder / "clip.npz").dancers
    passage = [Query(own.words)]
    every = holders(known.engine(), passage)
    monkeypatch.setattr(holding, "MOST_RECORDINGS", 2)
    three, seven, nine = (known.dance(name).dance_id for name in ("dance3", "dance7", "dance9"))
    monkeypatch.setattr(type(known.engine()), "score_shortlist", lambda *_: ([three, seven], None))

    assert {three, seven, nine} == holders(known.engine(), passage, [nine]).keys()
    assert {one: every[one] for one in (three, seven)} == holders(known.engine(), passage)


def test_what_weakens_a_report_is_said(known, folder, tmp_path):
    """The very same file; a short stretch; hardly any movement."""
    sentences = cautions(evidence_of(known, folder / "known" / "dance3.npz"))
    assert "byte for byte" in sentences[0]

    sentences = cautions(evidence_of(known, folder / "short.npz"))
    assert any("lasts 2.0 seconds only" in sentence for sentence in sentences)

    formats.write(tmp_path / "still.npz", [hardly_moving(240)])
    run_main("add", tmp_path / "few.db", folder / "known" / "dance1.npz", tmp_path / "still.npz", "--jobs", 1)
    formats.write(tmp_path / "still too.npz", [hardly_moving(200)])
    with open_catalogue(tmp_path / "few.db") as few:
        sentences = cautions(evidence_of(few, tmp_path / "still too.npz", "still"))
    assert any("There is little movement" in sentence for sentence in sentences)


def test_words_alone_can_be_reported_on(known, folder, tmp_path):
    """On either side; what is drawn then is what the words tell of, and that is said."""
    run_main("extract", folder / "clip.npz", "--words", "-o", tmp_path / "words.npz")
    with open_catalogue(tmp_path / "dances.db") as catalogue:
        (track,) = known.tracks(["dance3"])
        catalogue.learn_words(recorded("told", "words.npz", "0" * 64, 0.0), [track.fingerprint])
        found = evidence_of(catalogue, tmp_path / "words.npz")

    assert ("told", "motion words", False) == (found.match.name, found.clip.kind, found.has_skeletons)
    assert 2 == sum("drawn from" in sentence for sentence in cautions(found))
    assert 12 == render_evidence(found).count('class="skeleton"')


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.05, "0.05"), (6.01e-5, "0.000061"), (1.94, "2"), (4e-7, "0.0000004"), (1430.0, "1,430")],
)
def test_evalues_are_written_for_people(value, expected):
    assert expected == evalue_text(value)


# ---- that it can be checked


def test_the_hashes_are_those_of_the_files(db, folder, tmp_path):
    found = reported(tmp_path, db, folder / "clip.npz")

    assert hashlib.sha256((folder / "clip.npz").read_bytes()).hexdigest() == found["clip"]["sha256"]
    source = folder / "known" / "dance3.npz"
    assert hashlib.sha256(source.read_bytes()).hexdigest() == found["reference"]["recording_id"]


def test_the_command_in_a_report_gives_the_same_numbers(db, folder, tmp_path, monkeypatch):
    """Taken from the page and run as it stands, for the best match and for a limit of one's own."""
    monkeypatch.chdir(tmp_path)
    answer = run_main(
        "search", db, folder / "clip.npz", "--max-evalue", 0.01, "--json", "--report", "first.html"
    )
    (first,) = answer.objects
    command = re.search(r'<pre id="command">(.*?)</pre>', Path("first.html").read_text(encoding="utf-8"))
    program, *arguments = shlex.split(command[1])
    again = run_main(*arguments, "--json")

    assert "dancematch" == program
    assert {**first, "made": ""} == {**again.objects[0], "made": ""}
    page, other = (Path(name).read_text(encoding="utf-8") for name in ("first.html", "again.html"))
    assert re.sub(r"\d{4}-\d\d-\d\d[T ][\d:]{8}", "", page) == re.sub(
        r"\d{4}-\d\d-\d\d[T ][\d:]{8}", "", other
    )


def test_a_command_survives_any_name():
    words = shlex.split(command_for("my dances.db", "-o.mp4", "it's $HOME"))

    assert ["--", "my dances.db", "-o.mp4"] == words[-3:]
    assert ["dancematch", "search", "--report", "again.html", "--dance=it's $HOME"] == words[:-3]


def test_json_tells_all_but_the_pictures(db, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = run_main(
        "search", db, folder / "clip.npz", "--report", "all.json", "--dance", "dance3", "--json"
    )
    (found,) = answer.objects

    assert (0, ["all.json"]) == (answer.code, [path.name for path in tmp_path.iterdir()])
    assert found == json.loads(Path("all.json").read_text(encoding="utf-8"))
    assert "pictures" not in found
    assert {"headline", "cautions", "likelihood", "synchrony", "commonness", "limbs"} <= found.keys()
    assert "match" == found["verdict"] == found["match"]["verdict"]
    assert KNOWN == found["catalogue"]["dances"]
    assert shipped().model_id == found["model_id"]


# ---- the page


@pytest.fixture(scope="module")
def hostile(folder, tmp_path_factory) -> Path:
    """A report in which every name is an attack."""
    home = tmp_path_factory.mktemp("hostile")
    clip = write_dance(home / "<script>alert(1)</script>.npz".replace("/", "∕"), 3, dancer=4)
    shutil.copy(folder / "dances.db", home)
    with open_catalogue(home / "dances.db") as catalogue:
        catalogue.add(
            clip, dance=HOSTILE, labels=[HOSTILE], collection=HOSTILE, notes=HOSTILE, performer=HOSTILE
        )
        found = evidence_of(catalogue, write_dance(home / "<b onclick=1>.npz", 3, dancer=5), HOSTILE)
    write_evidence(home / "report.html", replace(found, command=HOSTILE))
    return home / "report.html"


def test_names_are_text_and_nothing_else(hostile):
    page = hostile.read_text(encoding="utf-8")

    assert "<script" not in page
    assert "<img" not in page
    assert "<b onclick" not in page
    assert "&lt;script&gt;" in page
    assert "{{command}}" in page  # of the name: what is put in is not looked at again


def test_nothing_is_fetched(hostile):
    page = hostile.read_text(encoding="utf-8")

    assert [] == re.findall(r"https?://", page)
    assert [] == re.findall(r'(?:src|href)="(?!data:)', page)
    assert "url(" not in page
    assert "default-src 'none'" in page


def test_the_page_reads_on_screen_on_a_phone_and_on_paper(hostile, browser):
    """Nothing runs, nothing is asked for, nothing sticks out, and no figure is larger than a page."""
    view = browser.new_page(viewport={"width": 1000, "height": 900})
    said, asked = [], []
    view.on("console", lambda message: said.append(message.text))
    view.on("dialog", lambda dialog: (said.append("dialog"), dialog.dismiss()))
    view.on("request", lambda request: asked.append(request.url.partition(":")[0]))
    view.goto(hostile.as_uri())
    for width, media, scheme in (
        (1000, "screen", "light"),
        (360, "screen", "dark"),
        (A4_TEXT[0], "print", "dark"),
    ):
        view.set_viewport_size({"width": width, "height": 900})
        view.emulate_media(media=media, color_scheme=scheme)
        assert [] == violations(view)
        assert view.evaluate("document.documentElement.scrollWidth") <= width
    tallest = view.evaluate(
        "Math.max(...[...document.querySelectorAll('.whole, figure, .moment-card')]"
        ".map(one => one.getBoundingClientRect().height))"
    )
    assert "rgb(255, 255, 255)" == view.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    paper = view.pdf(prefer_css_page_size=True)
    title = view.title()
    view.close()

    assert [] == said
    assert {"file", "data"} >= set(asked)
    assert HOSTILE in title
    assert 0 < tallest < A4_TEXT[1]
    assert 4 <= int(re.search(rb"/Count (\d+)", paper)[1]) <= 7


# ---- from video


class Onlooker:
    """Stands in for a pose estimator that sees one dancer in the middle of the picture."""

    name = "onlooker"

    def tracks(self, _path, *, on_frame=None):
        """The dance that was filmed, upright within the middle half of the picture."""
        del on_frame
        seen = dance(3, dancer=4)
        times = np.arange(len(seen.joints)) / seen.fps
        low, high = seen.joints.min(axis=(0, 1)), seen.joints.max(axis=(0, 1))
        image = 0.3 + 0.4 * ((seen.joints - low) / (high - low))[:, :, :2] * [1, -1] + [0, 0.4]
        return [Track(1, times, seen.joints, image.astype(np.float32), seen.visibility, BODY15)]


@pytest.fixture(scope="module")
def film(tmp_path_factory) -> Path:
    """A rendered video, as long as the clip but coarse."""
    path = tmp_path_factory.mktemp("film") / "clip.mp4"
    render(dance(3, dancer=4), path, size=(240, 180), fps=5)
    return path


def test_a_report_names_the_recording_that_was_matched(folder, tmp_path):
    """Of a dance of two recordings: which file, who dances it and when; and what is noted of the dance."""
    with open_catalogue(tmp_path / "dances.db") as catalogue:
        catalogue.add(folder / "known" / "dance7.npz")
        facts = {"performer": "Anna", "date": "2021-05", "notes": "from the film", "labels": ["jazz"]}
        formats.write(tmp_path / "first half.npz", [excerpt(dance(3), 0.0, 4.0)])
        formats.write(tmp_path / "second half.npz", [excerpt(dance(3), 4.0, dance(3).seconds)])
        catalogue.add(tmp_path / "first half.npz", dance="Thriller", performer="Ben")
        catalogue.add(tmp_path / "second half.npz", dance="Thriller", **facts)
        clip = tmp_path / "clip.npz"
        formats.write(clip, [excerpt(dance(3, dancer=4), 4.2, 8.2)])
        found = evidence_of(catalogue, clip, "Thriller")
    page = render_evidence(found)

    assert ("second half.npz", "Anna", 2) == (
        found.reference.file, found.reference.performer, found.dance.recordings
    )  # fmt: skip
    assert "of the dance Thriller (second half.npz)" in headline(found)
    for shown in ("second half.npz", "Thriller (jazz)", "Anna · 2021-05", "from the film"):
        assert shown in page
    assert "Ben" not in page
    assert found.dance.dance_id not in page
    assert {"Thriller", "Anna"} <= {
        describe_evidence(found)["dance"]["name"], describe_evidence(found)["reference"]["performer"]
    }  # fmt: skip


def test_a_video_is_shown_with_the_skeleton_over_it(db, film):
    with open_catalogue(db, create=False, make_estimator=Onlooker) as known:
        query, clip, footage = read_query_file(known, film)
        found = gather_evidence(known, query, clip, footage=footage)
        without_footage = gather_evidence(known, query, clip)
    pictures = found.pictures.stills

    assert ("dance3", "video") == (found.match.name, clip.kind)
    assert 6 == len(pictures)
    for moment, picture in zip(found.moments, pictures, strict=True):
        assert moment.query == pytest.approx(picture.still.seconds, abs=0.11)
        assert np.isfinite(picture.joints).all()
        assert (picture.joints >= 0).all()
        assert (picture.joints <= [picture.still.width, picture.still.height]).all()
    assert 6 == render_evidence(found).count("data:image/jpeg;base64,")
    assert "the frames above" in render_evidence(found)
    assert "the frames above" not in render_evidence(without_footage)


def test_a_still_is_the_part_of_the_frame_that_was_asked_for(film):
    """The middle of the picture is in the middle of the part, and a point keeps its place."""
    whole, part = stills_at(film, [1.0, 1.0], [(0.0, 0.0, 1.0, 1.0), (0.25, 0.25, 0.75, 0.75)])

    assert (240, 180) == (whole.width, whole.height)
    assert (120, 90) == (part.width, part.height)
    assert np.allclose([[60, 45], [0, 0]], part.inside(np.array([[0.5, 0.5], [0.25, 0.25]])))


# ---- the command


def test_a_report_replaces_nothing_unasked(db, folder, tmp_path):
    target = tmp_path / "report.html"
    target.write_text("mine", encoding="utf-8")
    refused = run_main("search", db, folder / "clip.npz", "--report", target)

    assert (1, "mine") == (refused.code, target.read_text(encoding="utf-8"))
    assert "exists already" in refused.complaint
    assert 0 == run_main("search", db, folder / "clip.npz", "--report", target, "--force").code
    assert "Evidence report" in target.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--report", "a.html", "--label", "x"), "leave out --label"),
        (("--report", "a.html", "--cluster", "auto"), "leave out --cluster"),
        (("--dance", "dance3"), "give --report too"),
    ],
)
def test_options_that_a_report_does_not_heed_are_wrong_usage(db, folder, options, complaint):
    answer = run_main("search", db, folder / "clip.npz", *options)

    assert (2, "") == (answer.code, answer.out)
    assert complaint in answer.err


def test_what_cannot_be_done_is_one_sentence(db, folder, tmp_path):
    page = tmp_path / "page.html"
    for arguments, complaint in [
        ((db, folder / "clip.npz", tmp_path / "report.pdf"), "a report ends in .html, .htm, .json"),
        ((db, folder / "clip.npz", tmp_path / "no" / "report.html"), "there is no folder"),
        ((db, folder / "clip.npz", page, "--dance", "waltz"), "no dance named 'waltz'"),
        ((db, folder / "gone.npz", page, "--json"), "gone.npz"),
        ((tmp_path / "gone.db", folder / "clip.npz", page), "gone.db"),
    ]:
        catalogue, clip, target, *options = arguments
        answer = run_main("search", catalogue, clip, "--report", target, *options)

        assert (1, "") == (answer.code, answer.out)
        assert complaint in answer.complaint
    for limit in ("nan", 6):
        answer = run_main("search", db, folder / "clip.npz", "--report", page, "--max-evalue", limit)

        assert 2 == answer.code
        assert "must be a number from 0 to 1" in answer.err


def test_an_empty_catalogue_is_one_sentence(folder, tmp_path):
    run_main("add", tmp_path / "empty.db", folder / "clip.npz", "--jobs", 1)
    run_main("remove", tmp_path / "empty.db", "clip")
    answer = run_main("search", tmp_path / "empty.db", folder / "clip.npz", "--report", tmp_path / "x.html")

    assert (1, "") == (answer.code, answer.out)
    assert "holds nothing that a clip could be compared with" in answer.complaint


def test_an_unknown_dance_is_refused(known, folder):
    with pytest.raises(UnknownDanceError):
        evidence_of(known, folder / "clip.npz", "waltz")


def test_described_evidence_is_json(known, folder):
    """Without a NaN anywhere, which JSON cannot say."""
    for clip in ("no legs.npz", "short.npz"):
        assert json.dumps(describe_evidence(evidence_of(known, folder / clip)), allow_nan=False)
