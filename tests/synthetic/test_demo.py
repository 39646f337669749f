"""The whole way, from rendered video files to a report; the pose networks are fetched by pip once."""

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from dancematch.cli.use.demo import _row
from dancematch.errors import InputError
from dancematch.synthetic import demo
from dancematch.synthetic.demo import Demo, Scene, run_demo
from dancematch.synthetic.demo_report import write_report

small = partial(Scene, size=(320, 240))


def known() -> list[Scene]:
    return [small(f"dance-{seed}", dance=seed, dancer=seed, seconds=(0.0, 3.5)) for seed in (3, 4, 5)]


def queries() -> list[Scene]:
    return [
        small("mirrored", dance=4, dancer=21, mirrored=True, seconds=(0.5, 3.0), story="mirrored"),
        small("unknown", dance=99, dancer=25, seconds=(0.0, 2.0), story="never learnt"),
    ]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "known_scenes", known)
        patch.setattr(demo, "query_scenes", queries)
        folder = tmp_path_factory.mktemp("demo") / "here"
        return run_demo(folder, jobs=1, on_stage=lambda _name: lambda _share: None)


def test_a_mirrored_performance_by_another_dancer_is_recognised_from_video(finished: Demo) -> None:
    """The dance, the place in it, the mirror and the tempo all come out of the video file."""
    answer = finished.answers[0]

    assert "dance-4" == answer.answer
    assert answer.verdict in ("match", "possible match")
    assert answer.match is not None
    assert answer.match.mirrored
    assert 0.5 == pytest.approx(answer.match.reference.start, abs=0.3)
    assert 1.0 == pytest.approx(answer.match.tempo, abs=0.1)


def test_a_dance_that_was_never_learnt_is_not_recognised(finished: Demo) -> None:
    answer = finished.answers[1]

    assert answer.answer is None
    assert "no match" == answer.verdict
    assert answer.correct
    assert 3 == len(answer.nearest)


def test_the_report_needs_nothing_beside_it(finished: Demo) -> None:
    """Every picture is inside the page, it has both answers and says that all is rendered."""
    page = write_report(finished).read_text(encoding="utf-8")

    assert 8 == page.count("data:image/jpeg;base64,")
    assert not re.findall(r'(?:src|href)="(?!data:)', page)
    assert "Everything here is rendered" in page
    assert "No match: “I don’t know this one”" in page
    assert "by accident." in page
    assert "dance-4" in page


def test_names_in_the_report_are_text(finished: Demo) -> None:
    hostile = "<script>alert(1)</script>"
    answers = tuple(replace(one, story=hostile, expected=hostile) for one in finished.answers)
    page = write_report(replace(finished, answers=answers)).read_text(encoding="utf-8")

    assert "<script" not in page
    assert 4 == page.count("&lt;script&gt;")


def test_the_table_names_verdict_and_accident(finished: Demo) -> None:
    """What a search gives by accident is said of what was recognised, and of nothing else."""
    known_row, unknown_row = map(_row, finished.answers)

    assert len(known_row) == len(unknown_row)
    assert "match" in known_row[3]
    assert any(re.fullmatch(r"1 in [\d,]+( million)?", cell) for cell in known_row)
    assert ["no match", "I don't know this one"] == unknown_row[3:5]


def test_a_finished_demo_is_not_rendered_again(finished: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "known_scenes", known)
    monkeypatch.setattr(demo, "query_scenes", queries)
    clip = finished.folder / "mirrored.mp4"
    before = clip.stat().st_mtime_ns

    again = run_demo(finished.folder, jobs=1, on_stage=lambda _name: lambda _share: None)

    assert before == clip.stat().st_mtime_ns
    assert [a.answer for a in finished.answers] == [a.answer for a in again.answers]


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")

    with pytest.raises(InputError, match="not a demo's"):
        run_demo(tmp_path, on_stage=lambda _name: lambda _share: None)
    assert ["thesis.txt"] == [path.name for path in tmp_path.iterdir()]
