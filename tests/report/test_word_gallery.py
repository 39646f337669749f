import json
import re
from functools import cache
from html.parser import HTMLParser
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dance_samples import dance, save_small_model, shipped, small_model, write_dance
from dancematch.cli import dancematch
from dancematch.errors import InputError, ModelError, ModelMismatchError
from dancematch.model.kmeans import KMeansTokeniser
from dancematch.model.parts import LAYOUTS, joint_places
from dancematch.model.tokeniser import load_background, load_model
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.report.word_gallery import write_gallery
from dancematch.report.word_gallery_data import (
    channel_joints,
    count_words,
    decode_words,
    list_words,
    neutral_pose,
)
from dancematch.skeletons import BODY15
from dancematch.types import Codebook, Fingerprint
from page_samples import violations

CHANNELS = tuple(LAYOUTS["parts7"])


@cache
def floor() -> KMeansTokeniser:
    return load_model("floor")


@cache
def floor_background() -> list[Fingerprint]:
    return load_background(floor(), "floor")


def words_in(rows: object, visibility: object = None) -> Fingerprint:
    """Words of the small model: the same row for all seven channels unless rows of seven are given."""
    words = np.asarray(rows, dtype=np.uint16)
    if words.ndim == 1:
        words = np.repeat(words[:, None], len(CHANNELS), axis=1)
    return Fingerprint(words, 16, 4 / 30, small_model().model_id, visibility=visibility)  # type: ignore[arg-type]


def test_words_are_counted_where_they_are_seen():
    seen = np.ones((4, 7), dtype=np.float32)
    seen[3, 0] = 0.1  # a guess
    counts = count_words(small_model(), [words_in([5, 5, 2, 2], seen), words_in([5])])

    assert [3, 1] == counts[0, [5, 2]].tolist()
    assert [3, 2] == counts[1, [5, 2]].tolist()
    assert 5 * 7 - 1 == counts.sum()


def test_words_of_another_model_are_not_counted():
    with pytest.raises(ModelMismatchError, match="words of the model"):
        count_words(small_model(), [floor().fingerprint(dance(1))])


def test_the_most_common_words_come_first():
    words = list_words(small_model(), [words_in([5, 5, 2, 7, 7, 7])])
    first = [word for word in words if word.channel == "torso"]

    assert [7, 5, 2, 0, 1, 3] == [word.word for word in first[:6]]
    assert [3, 2, 1, 0] == [word.count for word in first[:4]]
    assert pytest.approx([1 / 2, 1 / 3, 1 / 6, 0]) == [word.share for word in first[:4]]
    assert list(CHANNELS) == list(dict.fromkeys(word.channel for word in words))
    assert 7 * 16 == len(words)


def test_the_nearest_words_are_those_that_the_codebook_finds_alike():
    book = small_model().codebook
    for word in list_words(small_model(), [], nearest=3):
        row = book.similarity[CHANNELS.index(word.channel), word.word]
        given = [near.similarity for near in word.nearest]

        assert word.word not in [near.word for near in word.nearest]
        assert pytest.approx(np.sort(np.delete(row, word.word))[::-1][:3], abs=1e-4) == given


def test_channels_have_the_joints_of_their_layout():
    assert dict(LAYOUTS["parts7"]) == channel_joints(small_model())
    assert dict(LAYOUTS["whole"]) == channel_joints(load_model("floor-whole"))


def test_a_model_of_unknown_channels_cannot_be_drawn():
    class Tails:
        codebook = Codebook("tails", ("tail",), np.zeros((1, 2, 1)), np.ones((1, 2, 2)))

    with pytest.raises(ModelError, match="the joints of the channels tail are not known"):
        channel_joints(Tails())  # type: ignore[arg-type]


def test_a_figure_shows_what_its_word_means():
    """The joints of the channel go through the mean and the change that the word's centre stands for.

    Channels with which it shares joints do not pull it elsewhere. Bones have their canonical
    lengths, so a mean of many poses is met within centimetres only.
    """
    figures = list(decode_words(small_model(), [small_model().fingerprint(dance(1))]))
    errors = []
    for figure in figures:
        mean, change = np.split(small_model().parts[figure.channel].features[figure.word], 2)
        assert (4, len(LAYOUTS["parts7"][figure.channel]), 3) == figure.joints.shape
        errors.append(np.abs(figure.joints.mean(axis=0).ravel() - mean).mean())
        errors.append(
            np.abs((figure.joints[2:].mean(axis=0) - figure.joints[:2].mean(axis=0)).ravel() - change).mean()
        )

    assert 7 * 16 == len(figures)
    assert np.mean(errors) < 0.03
    assert np.isfinite(errors).all()


@pytest.mark.parametrize("make", [small_model, shipped])
def test_a_figure_does_not_depend_on_the_others(make):
    """All words are decoded at once; each looks as if it came alone, over and over."""
    model, times = make(), 9
    joints = list(channel_joints(model).values())
    shared = [bool(set(other) & set(joints[0])) for other in joints[1:]]
    seen = np.tile(np.array([True, *np.logical_not(shared)], dtype=np.float32), (times, 1))
    figures = list(islice(decode_words(model, []), model.vocabulary))  # of the first channel

    for figure in figures[:: len(figures) // 8]:
        words = np.zeros((times, len(joints)), dtype=np.uint16)
        words[:, 0] = figure.word
        alone = model.decode(
            Fingerprint(words, model.vocabulary, model.seconds_per_word, model.model_id, visibility=seen)
        )
        places = [alone.skeleton.index(joint) for joint in joints[0]]
        middle = np.split(alone.joints[:, places], times)[times // 2]
        np.testing.assert_allclose(middle, figure.joints, atol=1e-5)


def test_the_neutral_body_has_the_most_common_words():
    common = words_in([3, 3, 3])
    pose = neutral_pose(small_model(), [common, words_in([1, 1])])

    np.testing.assert_allclose(small_model().decode(common).joints.mean(axis=0), pose, atol=1e-6)


class Page(HTMLParser):
    """What a page holds: its JSON, and every address it would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.scripts: list[str] = []
        self._in_script = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        """Note an address."""
        self._in_script = tag == "script"
        self.addresses += [value for name, value in attributes if name in ("src", "href")]

    def handle_data(self, text):
        """Note a script."""
        if self._in_script:
            self.scripts.append(text)
            self._in_script = False

    @property
    def content(self) -> dict:
        """The data of the page's script."""
        return json.loads(self.scripts[0])


@pytest.fixture(scope="module")
def gallery(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("gallery") / "words.html"
    write_gallery(path, floor(), floor_background(), source="</script><b>the background</b>")
    return path


def test_the_gallery_has_every_word_in_the_order_of_use(gallery):
    content = Page(gallery.read_text(encoding="utf-8")).content
    expected = list_words(floor(), floor_background())
    given = [
        (channel["name"], word[0], word[1], word[2])
        for channel in content["channels"]
        for word in channel["words"]
    ]

    assert [(w.channel, w.word, w.count, [near.word for near in w.nearest]) for w in expected] == given
    assert "</script><b>the background</b>" == content["source"]
    assert list(BODY15.joints) == content["joints"]
    for channel in content["channels"]:
        joints = LAYOUTS["parts7"][channel["name"]]
        assert [place - 1 for place in joint_places(joints)] == channel["joints"]
        assert {4 * len(joints) * 3} == {len(word[4]) for word in channel["words"]}


def test_the_gallery_is_one_light_page_that_fetches_nothing(gallery):
    text = gallery.read_text(encoding="utf-8")
    addresses = [address for address in Page(text).addresses if not address.startswith(("data:", "#"))]

    assert gallery.stat().st_size < 1_000_000
    assert [] == addresses
    assert [] == re.findall(r"@import|url\(|fetch\(|https?://(?!www\.w3\.org/2000/svg)", text)
    assert "{{" not in text


def test_the_gallery_draws_itself_in_a_browser(gallery, browser):
    """One body part at a time: each word has a tile that can be read aloud; those in view are drawn.

    On a phone, in the dark, nothing sticks out, axe-core finds nothing, and it is not endless.
    """
    page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page.goto(gallery.as_uri())
    # Tiles are drawn as they come into view.
    page.wait_for_function("document.querySelectorAll('path.left[d]').length > 10", timeout=100_000)
    drawn = page.locator("path.left[d]").count()
    text = page.inner_text("body")
    size = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    assert [] == violations(page)
    page.get_by_role("button", name="right leg").click()
    names = page.eval_on_selector_all(".word", "tiles => tiles.map(t => t.ariaLabel)")
    page.close()

    assert 256 == sum(
        bool(re.fullmatch(r"right leg, word \d+, seen \d+ times, [\d.]+ %", name)) for name in names
    )
    assert 10 < drawn < 256 / 2
    assert (390, True) == (size[0], size[1] < 6000)
    assert "7 body parts, 256 words each" in text
    assert "</script><b>the background" in text


def run(line: str) -> str:
    done = CliRunner().invoke(dancematch, line.split())
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert 0 == done.exit_code, done.output
    return done.output


def test_the_command_prints_the_most_common_words():
    """The table is stdout; what the model learnt from, under which licence, is said beside it."""
    line = "words --model floor --channel torso --channel legs --limit 2"
    done = CliRunner().invoke(dancematch, line.split())
    heading, *rows = done.stdout.splitlines()
    common = next(word for word in list_words(floor(), floor_background()) if word.channel == "torso")

    assert ["channel", "word", "times", "share"] == heading.split()[:4]
    assert ["torso", "torso", "legs", "legs"] == [row.split()[0] for row in rows]
    assert [str(common.word), str(common.count)] == rows[0].split()[1:3]
    assert "learnt from AIST++" in done.stderr


def test_the_command_counts_in_a_catalogue(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_small_model(tmp_path / "own")
    with open_catalogue("dances.db", model="own") as known:
        known.add(write_dance(tmp_path / "clip.npz", 2))
    objects = [
        json.loads(line)
        for line in run("words --model own --catalogue dances.db --json --limit 16").splitlines()
    ]
    expected = list_words(small_model(), [small_model().fingerprint(dance(2))])

    assert [(w.channel, w.word, w.count) for w in expected] == [
        (found["channel"], found["word"], found["count"]) for found in objects
    ]
    assert {"word", "similarity"} == set(objects[0]["nearest"][0])
    with pytest.raises(ModelMismatchError, match="dancematch retokenise"):
        run("words --catalogue dances.db")


def test_the_command_writes_the_gallery_and_replaces_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_small_model(tmp_path / "own")
    assert "words.html" in run("words --model own --render")
    content = Page((tmp_path / "words.html").read_text(encoding="utf-8")).content
    assert (small_model().model_id, "the model's background") == (content["model"], content["source"])
    assert len(load_background(small_model(), "own")) == content["dances"]
    with pytest.raises(InputError, match=r"words.html exists already; choose another name, or say --force"):
        run("words --model own --render")
    run("words --model own --render --force")
    run("words --model own --render -o other.html")

    assert (tmp_path / "words.html").read_bytes() == (tmp_path / "other.html").read_bytes()


def test_wrong_usage_is_refused():
    with pytest.raises(InputError, match="has no channel 'tail'; it has left_arm, right_arm"):
        run("words --model floor --channel tail")

    assert 2 == CliRunner().invoke(dancematch, ["words", "-o", "x.html"]).exit_code
