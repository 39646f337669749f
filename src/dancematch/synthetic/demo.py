"""The demonstration: render dances, learn them from video, recognise other performances.

The videos show mannequins that perform procedural choreographies. From the video files on, the
path is the one that every user's clip takes.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dancematch.errors import InputError
from dancematch.motion import change_tempo, excerpt, mirror
from dancematch.pipeline.analysis.analyse_files import analyse_files
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.synthetic.dance.choreography import Dancer, compose_dance, perform
from dancematch.synthetic.rendering.camera import Camera
from dancematch.synthetic.rendering.mannequin import Appearance
from dancematch.synthetic.rendering.render_many import StageProgress, render_all
from dancematch.synthetic.rendering.renderer import render
from dancematch.types import Match, Motion, Verdict

VERSION = 1  # of the videos: a folder of another version is not continued
KNOWN_DANCES = 6
SIZE = (640, 480)
_MARK = "demo.json"


@dataclass(frozen=True)
class Scene:
    """One rendered clip: its choreography, its dancer, and how it is filmed."""

    name: str
    dance: int  # seed of the choreography
    dancer: int = 0  # seed of body, style and clothes
    azimuth: float = 0.0
    tempo: float = 1.0
    mirrored: bool = False
    seconds: tuple[float, float] | None = None  # the excerpt, if not the whole
    story: str = ""
    size: tuple[int, int] = SIZE

    def motion(self) -> Motion:
        """The motion of the clip."""
        dance = compose_dance(self.dance, eight_counts=3, bpm=112 + 4 * (self.dance % 4))
        # All dancers keep the music's tempo, so that `tempo` alone says how fast a clip is.
        motion = perform(dance, replace(Dancer.random(self.dancer), tempo=1.0))
        motion = change_tempo(motion, self.tempo) if self.tempo != 1 else motion
        motion = mirror(motion) if self.mirrored else motion
        return excerpt(motion, *self.seconds) if self.seconds else motion

    def render_to(self, folder: Path) -> Path:
        """Render into `folder`, unless the video exists."""
        path = folder / f"{self.name}.mp4"
        if not path.exists():
            appearance, camera = Appearance.random(self.dancer), Camera(azimuth=self.azimuth)
            render(self.motion(), path, appearances=[appearance], camera=camera, size=self.size)
        return path


def known_scenes() -> list[Scene]:
    """The dances to learn: each filmed once, from the front or nearly so."""
    return [
        Scene(compose_dance(seed).name, dance=seed, dancer=seed, azimuth=(-15.0, 0.0, 15.0)[seed % 3])
        for seed in range(KNOWN_DANCES)
    ]


def query_scenes() -> list[Scene]:
    """The clips to recognise: other dancers in other clothes, and something changed in each."""
    return [
        Scene("another-dancer", dance=0, dancer=20, story="another body, other clothes"),
        Scene("from-the-side", dance=1, dancer=21, azimuth=30.0, story="filmed from 30 degrees"),
        Scene("faster", dance=4, dancer=27, tempo=1.2, story="a fifth faster"),
        Scene("mirrored", dance=3, dancer=23, mirrored=True, story="mirrored, as a selfie is"),
        Scene("three-seconds", dance=5, dancer=24, seconds=(5.0, 8.0), story="seconds 5 to 8 only"),
        Scene("unknown-dance", dance=99, dancer=25, story="a dance that was never learnt"),
    ]


@dataclass(frozen=True)
class DemoAnswer:
    """A query, its expected answer, and the answer of the search."""

    query: str
    story: str
    expected: str | None  # None: the dance is not in the catalogue
    answer: str | None  # of a match or possible match; None: "I don't know this one"
    verdict: Verdict
    rank: int | None  # of the expected dance among all, 1 = first
    score: float | None
    correct: bool
    match: Match | None
    nearest: tuple[Match, ...]


@dataclass(frozen=True)
class Demo:
    """Everything the report shows."""

    folder: Path
    known: tuple[Scene, ...]
    answers: tuple[DemoAnswer, ...]
    motions: dict[str, Motion]  # of the queries, by name, as estimated from video

    @property
    def catalogue(self) -> Path:
        """The catalogue of the known dances."""
        return self.folder / "dances.db"


def run_demo(folder: str | Path, *, jobs: int = os.cpu_count() or 1, on_stage: StageProgress) -> Demo:
    """Render, learn and recognise in `folder`; an interrupted run is continued."""
    folder = Path(folder)
    _claim(folder)
    known, queries = known_scenes(), query_scenes()
    render_all(_longest_first(known + queries), folder, jobs, on_stage("rendering"))
    with open_catalogue(folder / "dances.db") as catalogue:
        clips = [scene.render_to(folder) for scene in known]
        for added in catalogue.add_many(clips, jobs=jobs, on_progress=on_stage("learning")):
            if added.error is not None:
                raise added.error
        asked = [scene.render_to(folder) for scene in queries]
        motions: dict[str, Motion] = {}
        answers = []
        outcomes = analyse_files(asked, jobs=jobs, on_progress=on_stage("recognising"))
        for scene, outcome in zip(queries, outcomes, strict=True):
            if outcome.error is not None:
                raise outcome.error
            answer = catalogue.search(outcome.motions, limit=KNOWN_DANCES)
            nearest, found = answer.candidates, answer.matches
            motions[scene.name] = outcome.motions[(nearest[0].dancer if nearest else 1) - 1]
            answers.append(_make_answer(scene, {s.dance: s.name for s in known}, found, nearest))
    return Demo(folder, tuple(known), tuple(answers), motions)


def _make_answer(
    scene: Scene, names: dict[int, str], found: Sequence[Match], nearest: Sequence[Match]
) -> DemoAnswer:
    expected = names.get(scene.dance)
    order = [match.name for match in nearest]
    match = found[0] if found else None
    answer = match.name if match else None
    return DemoAnswer(
        query=scene.name,
        story=scene.story,
        expected=expected,
        answer=answer,
        verdict=match.verdict if match else "no match",
        rank=order.index(expected) + 1 if expected in order else None,
        score=nearest[0].score if nearest else None,
        correct=answer == expected,
        match=match,
        nearest=tuple(nearest),
    )


def _claim(folder: Path) -> None:
    """Make the folder, or check that it is a demo's."""
    mark = folder / _MARK
    wanted = {"demo": VERSION}
    try:
        if mark.exists():
            if json.loads(mark.read_text(encoding="utf-8")) != wanted:
                raise InputError(f"{folder} holds another version's demo; remove it or choose another folder")
            return
        if folder.exists() and any(folder.iterdir()):
            raise InputError(f"{folder} is not empty and not a demo's; choose another folder")
        folder.mkdir(parents=True, exist_ok=True)
        mark.write_text(json.dumps(wanted), encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its mark is damaged"
        raise InputError(f"{folder} cannot be used for the demo: {reason}; choose another folder") from None


def _longest_first(scenes: Sequence[Scene]) -> list[Scene]:
    """The scenes, excerpts last, so that the processes finish at about the same time."""
    return sorted(scenes, key=lambda scene: scene.seconds is not None)
