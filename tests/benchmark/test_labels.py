"""Which label a clip's texts name, and when that is left to a person."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dancematch.benchmark.labels import Label, LabelDecision, Labeller, read_labels
from dancematch.errors import InputError, MissingExtraError

LABELS = (
    Label("EID_GoodVibes", "Orange Justice", ("OJ dance move",)),
    Label("EID_Floss", "Floss"),
    Label("EID_Windmill", "Windmill Floss"),
    Label("EID_Wave", "Wave"),
    Label("EID_Banner", "Banner Wave"),
    Label("EID_TakeTheL", "Take The L"),
    Label("EID_Kilo", "Pelé’s Air Punch"),
    Label("EID_Pull", "Pull Up"),
    Label("EID_Drum", "Pull up!"),
    Label("EID_Level1", "Level Up 1"),
    Label("EID_Level2", "Level Up 2"),
    Label("EID_Mirror", "!"),
)
LABELLER = Labeller(LABELS)


@pytest.mark.parametrize(
    ("expected", "title", "tags", "description"),
    [
        ("EID_GoodVibes", "ORANGE JUSTICE!! 🍊 #fortnite", [], ""),
        ("EID_GoodVibes", "pov: you win", ["dance", "#OrangeJustice"], ""),
        ("EID_GoodVibes", "second try", [], "me doing the orange justice"),
        ("EID_GoodVibes", "orange justise irl", [], ""),
        ("EID_GoodVibes", "an OJ dance move, slowly", [], ""),
        ("EID_GoodVibes", "EID_GoodVibes test", [], ""),
        ("EID_GoodVibes", "Fresh take: Orange Justice", ["floss", "take the l"], "floss dance"),
        ("EID_Kilo", "peles airpunch", [], ""),
        ("EID_Floss", "Floss dance tutorial", [], ""),
        ("EID_GoodVibes", "Orange Justice or I lose, wave!", [], ""),
        ("EID_Floss", "we all did the floss at school", ["floss"], ""),
        ("EID_Banner", "the banner wave", [], ""),
        ("EID_Level2", "level upp 2", [], ""),
        ("EID_Mirror", "eid_mirror", [], ""),
    ],
)
def test_a_label_is_found_where_it_is_named(expected, title, tags, description):
    assert expected == LABELLER.find(title, tags, description).label_id


@pytest.mark.parametrize(
    ("candidates", "title", "tags"),
    [
        ({"EID_Pull", "EID_Drum"}, "pull up", []),  # two labels of one name
        ({"EID_Floss", "EID_GoodVibes"}, "Floss emote or Orange Justice?", []),
        ({"EID_Floss", "EID_Windmill"}, "Windmll Floss dance", []),
        ({"EID_Floss", "EID_GoodVibes"}, "Floss vs Orange Justice", []),
        ({"EID_TakeTheL", "EID_Wave"}, "take the L and wave, which is better", []),
        ({"EID_Wave"}, "new wave of players", []),  # a word of everyday language
        ({"EID_Wave"}, "my week", ["wave", "sea"]),
        (set(), "a day in the park", ["fun"]),
    ],
)
def test_what_is_not_clear_is_not_guessed(candidates, title, tags):
    found = LABELLER.find(title, tags)

    assert found.label_id is None
    assert candidates == set(found.candidates)


@given(st.sampled_from(LABELS[:7]), st.data())
def test_a_name_in_any_dress_is_its_label(label, data):
    """Capitals, signs, missing spaces and words that say nothing change nothing."""
    letters = [data.draw(st.sampled_from([c.lower(), c.upper()])) for c in label.name]
    name = "".join(letters)
    name = data.draw(st.sampled_from([name, name.replace(" ", "-"), name.replace("’", "'"), f"“{name}”!!"]))
    before, after = (data.draw(st.sampled_from(["", "fortnite ", "how to do the "])) for _ in range(2))

    assert label.label_id == LABELLER.find(f"{before}{name} {after}").label_id


@given(st.sampled_from([label for label in LABELS if len(label.name) > 7]), st.data())
def test_a_misspelt_name_is_its_label_or_none(label, data):
    at = data.draw(st.integers(1, len(label.name) - 1))

    assert LABELLER.find(label.name[:at] + label.name[at + 1 :]).label_id in (label.label_id, None)


def test_labels_are_read_from_a_table(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("id,name,rarity,aliases\nA,One Step,Rare,Uno| 1step\nB,Two,,\n", encoding="utf-8-sig")

    assert [Label("A", "One Step", ("Uno", "1step")), Label("B", "Two")] == read_labels(path)


def test_a_table_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(
        InputError, match=r"^the labels .*nope\.csv cannot be read: No such file or directory$"
    ):
        read_labels(tmp_path / "nope.csv")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("id,title\nA,b\n", "no column name"), ("id,name\nA,b\nA,c\n", "'A' twice"), ("id,name\n", "no label")],
)
def test_a_table_without_labels_is_refused(tmp_path, text, complaint):
    path = tmp_path / "labels.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=complaint):
        read_labels(path)


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dancematch\[benchmark\]'"):
        Labeller(LABELS)


def test_decisions_say_how_sure_they_are():
    assert LabelDecision("EID_Floss", "title is the label", 1.0) == LABELLER.find("Floss")
    assert 0.88 < LABELLER.find("orange justise").score < 1
