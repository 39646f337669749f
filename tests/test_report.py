import hashlib
import json
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cli_samples import run_main
from dance_samples import LEGS, dance, hardly_moving, shipped, without, write_dance
from dancematch import formats
from dancematch.benchmark.render import render
from dancematch.catalogue.records import Dance
from dancematch.errors import UnknownDanceError
from dancematch.index import holders as holding
from dancematch.index.engine import Query
from dancematch.index.holders import holders
from dancematch.index.verdict import MAX_EVALUE, Judging, evalues, tail_of
from dancematch.motion import change_tempo, excerpt, mirror
from dancematch.pipeline.catalogue import Catalogue, open_catalogue
from dancematch.pipeline.report import Evidence, command_for, evidence, look_at
from dancematch.pipeline.report_page import page_of, write_report
from dancematch.pipeline.report_text import cautions, number, odds, verdict
from dancematch.pose.stills import stills_at
from dancematch.pose.track import Track
from dancematch.skeletons import BODY15
from dancematch.types import Motion

KNOWN = 10  # dances
A4_TEXT = (673, 990)  # pixels of a page between its margins
HOSTILE = "</title><script>document.title='stolen'</script><img src=x onerror=alert(1)>{{command}}"


def joined(*parts: Motion) -> Motion:
    return Motion(np.concatenate([part.joints for part in parts]), parts[0].fps, parts[0].skeleton)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Ten known dances, and clips of some of them by somebody else."""
    folder = tmp_path_factory.mktemp("report")
    for seed in range(1, KNOWN + 1):
        write_dance(folder / "known" / f"dance{seed}.npz", seed)
    run_main("add", folder / "dances.db", folder / "known", "--jobs", 1, "--label", "studio")
    write_dance(folder / "clip.npz", 3, dancer=4)
    write_dance(folder / "stranger.npz", 77)
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


def evidence_of(catalogue: Catalogue, clip: Path, dance_id: str | None = None) -> Evidence:
    performances, what, footage = look_at(catalogue, clip)
    return evidence(catalogue, performances, what, dance_id=dance_id, footage=footage)


@pytest.fixture(scope="module")
def found(known, folder) -> Evidence:
    """What there is to say of a clip of the third dance."""
    return evidence_of(known, folder / "clip.npz")


# ---- what it says


def test_a_report_is_of_what_a_search_finds(found, known, folder):
    """The same dance, score, times and E-value."""
    (expected, *_) = known.search(folder / "clip.npz")

    assert expected == found.match
    assert "dance3" == found.match.dance_id
    assert found.found
    assert verdict(found).startswith("Seconds 0.0 to ")
    assert "of clip.npz match seconds 0.1 to 8.7 of the dance dance3, not mirrored" in verdict(found)


def test_any_dance_can_be_asked_about(known, folder):
    """Also one that is far down the list: chance is judged by all dances, not by that one alone."""
    every = known.search(folder / "clip.npz", limit=KNOWN, max_evalue=None)
    for expected in (every[1], every[-1]):
        found = evidence_of(known, folder / "clip.npz", expected.dance_id)

        assert expected == found.match
        assert not found.found
        assert any("more like dance3" in sentence for sentence in cautions(found))


def test_a_stranger_is_no_evidence_and_that_is_said_first(db, folder, tmp_path):
    answer = run_main("report", db, folder / "stranger.npz", "-o", tmp_path / "report.html")

    assert 3 == answer.code
    assert answer.out.startswith("This is not evidence of a match.")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'class="verdict none"' in page
    assert "This is not evidence of a match." in page


def test_mirror_and_tempo_are_told(known, folder):
    found = evidence_of(known, folder / "changed.npz")

    assert ("dance5", True) == (found.match.dance_id, found.match.mirrored)
    assert found.match.tempo == pytest.approx(1.2, abs=0.05)
    assert re.search(r", mirrored, at 1\.\d\d times its tempo \(faster\)", verdict(found))
    assert "Yes: left and right are exchanged." in page_of(found)


def test_the_evalue_can_be_computed_from_what_the_report_gives(found, known, folder):
    """From the score, the crowds and the comparisons made; the limit is where it crosses the decision."""
    for one in (found, evidence_of(known, folder / "stranger.npz")):
        chance = one.chance
        peers = Judging(np.array(list(chance.peers.values())), np.array(list(chance.takes.values())))
        scores = np.array([chance.score, chance.needed, chance.needed - 0.002])
        evalue, enough, less = evalues(
            scores, tail_of(np.array(chance.background)), peers, chance.comparisons
        ).tolist()

        assert KNOWN * 2 == chance.comparisons
        assert chance.evalue == pytest.approx(evalue, rel=0.01)
        assert enough <= MAX_EVALUE < less


def test_takes_that_did_not_judge_are_named(tmp_path):
    """Whoever reads the evidence learns that other recordings of the dance are in the catalogue."""
    with open_catalogue(tmp_path / "dances.db") as catalogue:
        for dancer in range(3):
            catalogue.add(write_dance(tmp_path / f"take{dancer}.npz", 1, dancer))
        found = evidence_of(catalogue, write_dance(tmp_path / "clip.npz", 1, 7))
    others = sorted({"take0", "take1", "take2"} - {found.match.dance_id})

    assert tuple(others) == found.chance.not_asked
    assert any(f"did not judge chance: {', '.join(others)}." in sentence for sentence in cautions(found))


def test_moments_are_spread_evenly_and_belong_together(found):
    times = [moment.query for moment in found.moments]

    assert 6 == len(times) == len(found.pictures.query) == len(found.pictures.reference)
    assert np.ptp(np.diff(times)) < 0.5
    assert max(abs(moment.query - moment.reference) for moment in found.moments) < 0.5


def test_a_clip_that_leaves_out_the_middle_is_seen_as_such(folder, tmp_path):
    """Both halves are passages, and no moment is shown at which the clip waits for the second."""
    formats.write(tmp_path / "long.npz", [joined(dance(3), dance(40), dance(41), dance(5))])
    formats.write(tmp_path / "cut.npz", [joined(dance(3, dancer=4), dance(5, dancer=4))])
    shutil.copy(folder / "dances.db", tmp_path)
    with open_catalogue(tmp_path / "dances.db") as catalogue:
        catalogue.add(tmp_path / "long.npz")
        found = evidence_of(catalogue, tmp_path / "cut.npz", "long")
    left_out = dance(40).seconds + dance(41).seconds
    late = [moment.reference - moment.query for moment in found.moments]

    first, second = found.passages
    assert left_out == pytest.approx(second.reference.start - first.reference.end, abs=0.6)
    assert found.covered == pytest.approx(1, abs=0.05)
    assert np.allclose([0, 0, 0, left_out, left_out, left_out], late, atol=0.6)
    assert any("as when a clip is cut together" in sentence for sentence in cautions(found))


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
    """Nobody else has the passage; once a medley holds the clip itself, one does, and it is named."""
    formats.write(tmp_path / "medley.npz", [joined(dance(3, dancer=4), dance(40))])
    rare = found.commonness
    assert ([], KNOWN - 1) == (rare.as_alike, len(rare.others))
    assert rare.agreement > next(iter(rare.others.values()))

    shutil.copy(folder / "dances.db", tmp_path)
    with open_catalogue(tmp_path / "dances.db") as catalogue:
        catalogue.add(tmp_path / "medley.npz")
        found = evidence_of(catalogue, folder / "clip.npz", "dance3")

    assert ["medley"] == found.commonness.as_alike
    assert 1.0 == pytest.approx(found.commonness.others["medley"], abs=0.02)
    assert f"1 of {KNOWN} other dances hold a passage at least as alike: medley." in page_of(found)
    assert any("medley" in sentence for sentence in cautions(found))


def test_in_a_large_catalogue_the_likely_dances_are_looked_at(known, folder, monkeypatch):
    """They agree as they did; a dance that was asked about is among them in any case."""
    (own,) = known.readings(folder / "clip.npz")
    passage = [Query(own.words)]
    every = holders(known.engine(), passage)
    monkeypatch.setattr(holding, "MOST", 2)
    monkeypatch.setattr(type(known.engine()), "judged", lambda *_: (["dance3", "dance7"], None))

    assert {"dance3", "dance7", "dance9"} == holders(known.engine(), passage, ["dance9"]).keys()
    assert {name: every[name] for name in ("dance3", "dance7")} == holders(known.engine(), passage)


def test_what_weakens_a_report_is_said(known, folder, tmp_path):
    """The very same file; a short stretch; a catalogue that is too small; hardly any movement."""
    told = cautions(evidence_of(known, folder / "known" / "dance3.npz"))
    assert "byte for byte" in told[0]

    told = cautions(evidence_of(known, folder / "short.npz"))
    assert any("lasts 2.0 seconds only" in sentence for sentence in told)

    formats.write(tmp_path / "still.npz", [hardly_moving(240)])
    run_main("add", tmp_path / "few.db", folder / "known" / "dance1.npz", tmp_path / "still.npz", "--jobs", 1)
    formats.write(tmp_path / "still too.npz", [hardly_moving(200)])
    with open_catalogue(tmp_path / "few.db") as few:
        told = cautions(evidence_of(few, tmp_path / "still too.npz", "still"))
    assert any("holds 1 other dance, too few to judge chance by" in sentence for sentence in told)
    assert any("There is little movement" in sentence for sentence in told)


def test_words_alone_can_be_reported_on(known, folder, tmp_path):
    """On either side; what is drawn then is what the words tell of, and that is said."""
    run_main("fingerprint", folder / "clip.npz", "-o", tmp_path / "words.npz")
    with open_catalogue(tmp_path / "dances.db") as catalogue:
        (said,) = known.tracks(["dance3"])
        catalogue.learn_words(Dance("told", "words.npz", "0" * 64, 0.0), [said.fingerprint])
        found = evidence_of(catalogue, tmp_path / "words.npz")

    assert ("told", "motion words", False) == (found.match.dance_id, found.clip.kind, found.has_skeletons)
    assert 2 == sum("drawn from" in sentence for sentence in cautions(found))
    assert 12 == page_of(found).count('class="skeleton"')


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.05, "0.05"),
        (6.01e-5, "0.00006"),
        (3e-12, "below 0.000001"),
        (1.94, "1.9"),
        (430.0, "430"),
        (0, "0"),
    ],
)
def test_numbers_are_written_for_people(value, expected):
    assert expected == number(value)


def test_an_evalue_in_words():
    assert "about one of 440 such searches" in odds(1 / 437)
    assert "about one of 17 000 such searches" in odds(6.01e-5)
    assert "fewer than one of a million" in odds(1e-9)
    assert "chance alone would give 1.9 dances as alike" in odds(1.94)


# ---- that it can be checked


def test_the_hashes_are_those_of_the_files(db, folder):
    (found,) = run_main("report", db, folder / "clip.npz", "--json").objects

    assert hashlib.sha256((folder / "clip.npz").read_bytes()).hexdigest() == found["clip"]["sha256"]
    source = folder / "known" / "dance3.npz"
    assert hashlib.sha256(source.read_bytes()).hexdigest() == found["reference"]["content_hash"]


def test_the_command_in_a_report_gives_the_same_numbers(db, folder, tmp_path, monkeypatch):
    """Taken from the page and run as it stands, for the best match and for a limit of one's own."""
    monkeypatch.chdir(tmp_path)
    answer = run_main("report", db, folder / "clip.npz", "--max-evalue", 0.01, "--json", "-o", "first.html")
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

    assert ["--", "my dances.db", "-o.mp4", "it's $HOME"] == words[-4:]
    assert ["dancematch", "report", "-o", "again.html"] == words[:-4]


def test_json_tells_all_but_the_pictures(db, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = run_main("report", db, folder / "clip.npz", "dance3", "--json")
    (found,) = answer.objects

    assert (0, []) == (answer.code, list(tmp_path.iterdir()))
    assert "pictures" not in found
    assert {"verdict", "cautions", "chance", "commonness", "limbs", "moments", "metrics"} <= found.keys()
    assert KNOWN == found["catalogue"]["dances"]
    assert shipped().model_id == found["model_id"]


# ---- the page


@pytest.fixture(scope="module")
def hostile(folder, tmp_path_factory) -> Path:
    """A report in which every name that a stranger may choose is an attack."""
    home = tmp_path_factory.mktemp("hostile")
    clip = write_dance(home / "<script>alert(1)</script>.npz".replace("/", "∕"), 3, dancer=4)
    shutil.copy(folder / "dances.db", home)
    with open_catalogue(home / "dances.db") as catalogue:
        catalogue.add(clip, dance_id=HOSTILE, label=HOSTILE, bank=HOSTILE)
        found = evidence_of(catalogue, write_dance(home / "<b onclick=1>.npz", 3, dancer=5), HOSTILE)
    write_report(home / "report.html", replace(found, command=HOSTILE))
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
    for width, media in ((1000, "screen"), (360, "screen"), (A4_TEXT[0], "print")):
        view.set_viewport_size({"width": width, "height": 900})
        view.emulate_media(media=media)
        assert view.evaluate("document.documentElement.scrollWidth") <= width
    tallest = view.evaluate(
        "Math.max(...[...document.querySelectorAll('.whole, figure, .moment-card')]"
        ".map(one => one.getBoundingClientRect().height))"
    )
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
        assert on_frame is None
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


def test_a_video_is_shown_with_the_skeleton_over_it(known, film):
    performances, clip, footage = look_at(known, film, make_estimator=Onlooker)
    found = evidence(known, performances, clip, footage=footage)
    pictures = found.pictures.stills

    assert ("dance3", "video") == (found.match.dance_id, clip.kind)
    assert 6 == len(pictures)
    for moment, picture in zip(found.moments, pictures, strict=True):
        assert moment.query == pytest.approx(picture.still.seconds, abs=0.11)
        assert np.isfinite(picture.joints).all()
        assert (picture.joints >= 0).all()
        assert (picture.joints <= [picture.still.width, picture.still.height]).all()
    assert 6 == page_of(found).count("data:image/jpeg;base64,")
    assert "the frames above" in page_of(found)
    assert "the frames above" not in page_of(evidence(known, performances, clip))


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
    refused = run_main("report", db, folder / "clip.npz", "-o", target)

    assert (1, "mine") == (refused.code, target.read_text(encoding="utf-8"))
    assert "exists already" in refused.complaint
    assert 0 == run_main("report", db, folder / "clip.npz", "-o", target, "--force").code
    assert "Evidence report" in target.read_text(encoding="utf-8")


def test_without_a_name_the_page_is_report_html(db, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert 0 == run_main("report", db, folder / "clip.npz").code
    assert ["report.html"] == [path.name for path in tmp_path.iterdir()]


def test_what_cannot_be_done_is_one_sentence(db, folder, tmp_path):
    for arguments, complaint in [
        ((db, folder / "clip.npz", "-o", tmp_path / "report.pdf"), "a report is a page, .html or .htm"),
        ((db, folder / "clip.npz", "-o", tmp_path / "no" / "report.html"), "there is no folder"),
        ((db, folder / "clip.npz", "waltz", "--json"), "no dance named 'waltz'"),
        ((db, folder / "gone.npz", "--json"), "gone.npz"),
        ((tmp_path / "gone.db", folder / "clip.npz", "--json"), "gone.db"),
    ]:
        answer = run_main("report", *arguments)

        assert (1, "") == (answer.code, answer.out)
        assert complaint in answer.complaint
    assert 2 == run_main("report", db, folder / "clip.npz", "--max-evalue", "nan").code


def test_an_empty_catalogue_is_one_sentence(folder, tmp_path):
    run_main("add", tmp_path / "empty.db", folder / "clip.npz", "--jobs", 1)
    run_main("remove", tmp_path / "empty.db", "clip")
    answer = run_main("report", tmp_path / "empty.db", folder / "clip.npz", "--json")

    assert (1, "") == (answer.code, answer.out)
    assert "holds nothing that a clip could be compared with" in answer.complaint


def test_an_unknown_dance_is_refused(known, folder):
    with pytest.raises(UnknownDanceError):
        evidence_of(known, folder / "clip.npz", "waltz")


def test_described_evidence_is_json(known, folder):
    """Without a NaN anywhere, which JSON cannot say."""
    for clip in ("no legs.npz", "short.npz"):
        assert json.dumps(evidence_of(known, folder / clip).described(), allow_nan=False)
