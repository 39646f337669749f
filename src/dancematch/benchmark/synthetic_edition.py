"""The synthetic edition: rendered recordings with the information that a download would have.

Everything follows from the seed. Each performer (a body, a style, clothes) dances every
choreography once, with another camera, at another tempo, sometimes mirrored, sometimes with a
second person in the frame. From the videos on, the builder treats them as downloaded clips.
"""

import csv
import io
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from dancematch.benchmark.labels import Label
from dancematch.errors import InputError
from dancematch.formats.files import write_bytes
from dancematch.motion import change_tempo, excerpt, mirror, perturb
from dancematch.pipeline.analysis.file_analysis import Progress
from dancematch.pipeline.analysis.info_files import INFO_SUFFIX
from dancematch.synthetic.dance.choreography import Choreography, Dancer, compose_dance, perform
from dancematch.synthetic.rendering.camera import Camera
from dancematch.synthetic.rendering.mannequin import Appearance
from dancematch.synthetic.rendering.render_many import render_all
from dancematch.synthetic.rendering.renderer import render, side_by_side
from dancematch.types import Motion

_FIRST_SEED = 100_000  # of choreographies and dancers: the demonstration's are below
_SEEDS_PER_EDITION = 4096  # so many choreographies have different names
_LEAD_IN_SECONDS = 1.0  # a recording begins anywhere in the first second
_TEMPI = (0.85, 1.2)
_CONDITIONS = ("azimuth", "height", "tempo", "mirrored", "noise", "company", "start")  # in the manifest


@dataclass(frozen=True)
class EditionSettings:
    """What to render: every number that changes a picture."""

    choreographies: int = 20
    performances: int = 10
    seed: int = 0
    seconds: float = 8.0
    size: tuple[int, int] = (640, 480)

    def __post_init__(self) -> None:
        if not 1 <= self.choreographies <= _SEEDS_PER_EDITION or not 1 <= self.performances <= 1000:
            raise InputError(
                f"1 to {_SEEDS_PER_EDITION} choreographies and 1 to 1000 performances can be rendered,"
                f" got {self.choreographies} and {self.performances}"
            )
        if self.seed < 0 or not 1 <= self.seconds <= 60:
            raise InputError(
                f"a seed of 0 or more and 1 to 60 seconds are needed, got {self.seed} and {self.seconds}"
            )

    @property
    def name(self) -> str:
        """Name of the edition made with these settings."""
        return f"synthetic {self.choreographies} x {self.performances}, seed {self.seed}"

    @property
    def first_seed(self) -> int:
        """Seed of the first choreography and of the first performer."""
        return _FIRST_SEED + self.seed * _SEEDS_PER_EDITION

    def labels(self) -> tuple[Label, ...]:
        """One label per choreography."""
        return tuple(
            Label(f"DM{number:04}", _title(self.first_seed + number)) for number in range(self.choreographies)
        )

    def recordings(self) -> "list[SyntheticRecording]":
        """Every performance of every choreography."""
        return [
            SyntheticRecording.random(self, number, performer)
            for number in range(self.choreographies)
            for performer in range(self.performances)
        ]


@dataclass(frozen=True)
class SyntheticRecording:
    """One clip: its choreography, its performer, and how it is filmed."""

    number: int  # of the choreography
    performer: int
    dance: int  # seed of the choreography
    dancer: int  # seed of body, style and clothes
    azimuth: float
    height: float
    tempo: float
    mirrored: bool
    noise: float  # tremor of the joints, as a share of the usual amount
    company: str  # "alone", "partner" who dances along, or "onlooker" who hardly moves
    start: float
    seconds: float
    size: tuple[int, int]

    @classmethod
    def random(cls, settings: EditionSettings, number: int, performer: int) -> "SyntheticRecording":
        """A different one for every seed, choreography and performer."""
        rng = np.random.default_rng([settings.seed, number, performer, 5])
        return cls(
            number=number,
            performer=performer,
            dance=settings.first_seed + number,
            dancer=settings.first_seed + performer,
            azimuth=round(float(rng.uniform(-40, 40)), 1),
            height=round(float(rng.uniform(0.8, 1.8)), 2),
            tempo=round(float(rng.uniform(*_TEMPI)), 3),
            mirrored=bool(rng.random() < 0.25),
            noise=round(float(rng.choice([0.0, 0.25, 0.5])), 2),
            company=str(rng.choice(["alone", "partner", "onlooker"], p=[0.7, 0.15, 0.15])),
            start=round(float(rng.uniform(0, _LEAD_IN_SECONDS)), 3),
            seconds=settings.seconds,
            size=settings.size,
        )

    @property
    def name(self) -> str:
        """The clip's file name, without suffix."""
        return f"clip-{self.number:04}-{self.performer:03}"

    def motions(self) -> list[Motion]:
        """Everyone in the frame, the performer first."""
        # All dancers keep the music's tempo, so that `tempo` alone says how fast a clip is.
        lead, second = (
            replace(Dancer.random(seed), tempo=1.0) for seed in (self.dancer, self._second_dancer)
        )
        dance = self._compose(self.dance, bpm=104 + 4 * (self.dance % 5))
        cast = [perform(dance, lead)]
        if self.company == "partner":
            cast.append(perform(dance, second))
        elif self.company == "onlooker":
            idle = self._compose(self.dance % _FIRST_SEED % 97, bpm=60)  # in no edition
            cast.append(perform(idle, replace(second, amplitude=0.15, energy=0.0)))
        changed = [self._change(motion, seed) for seed, motion in enumerate(cast)]
        return side_by_side(changed) if len(changed) > 1 else changed

    @property
    def _second_dancer(self) -> int:
        """Seed of a dancer who is no performer of this edition."""
        return self.dancer + _SEEDS_PER_EDITION // 2

    def _compose(self, seed: int, bpm: float) -> Choreography:
        """A dance that fills the clip even at the highest tempo."""
        beats = (self.seconds + _LEAD_IN_SECONDS + 0.2) * _TEMPI[1] * bpm / 60
        return compose_dance(seed, eight_counts=int(beats // 8) + 1, bpm=bpm)

    def _change(self, motion: Motion, seed: int) -> Motion:
        motion = change_tempo(motion, self.tempo)
        motion = excerpt(motion, self.start, self.start + self.seconds)
        motion = mirror(motion) if self.mirrored else motion
        return perturb(motion, "noise", self.noise, seed=self.dance + self.dancer + seed)

    def render_to(self, folder: Path) -> Path:
        """Render into `folder`, unless the video exists; its information is written before it."""
        path = folder / f"{self.name}.mp4"
        if not path.exists():
            info = json.dumps(self.info(), indent=1).encode()
            write_bytes(folder / f"{self.name}{INFO_SUFFIX}", info, overwrite=True)
            appearances = [Appearance.random(self.dancer), Appearance.random(self._second_dancer)]
            camera = Camera(azimuth=self.azimuth, height=self.height)
            render(self.motions(), path, appearances=appearances, camera=camera, size=self.size)
        return path

    def info(self) -> dict[str, object]:
        """The information that a download would have, worded in one of four ways."""
        name = _title(self.dance)
        title, tags, description = [
            (f"{name} dance", ["dance", "challenge"], ""),
            ("Learnt this one in an evening", ["dance", f"#{name.replace(' ', '')}"], ""),
            ("Second attempt", ["dance"], f"This is me with {name}, what do you think?"),
            (f"{name[:2]}{name[3:]} challenge", [], ""),  # a letter is missing
        ][(self.number + self.performer) % 4]
        return {
            "id": f"{self.dance}-{self.performer}",
            "extractor_key": "DanceMatch",
            "title": title,
            "tags": tags,
            "description": description,
            "uploader_id": f"@performer-{self.dancer}",
            "license": "Apache-2.0",
            "dancematch": {key: getattr(self, key) for key in _CONDITIONS},
        }


def render_edition(
    settings: EditionSettings, folder: Path, *, jobs: int = 1, force: bool = False, on_progress: Progress
) -> Sequence[Label]:
    """Render every recording into `folder` and return the labels; an interrupted run is continued.

    A folder with videos of other settings is emptied only with `force`.
    """
    mark = folder / "settings.json"
    wanted = json.dumps(asdict(settings))
    if folder.exists() and not (mark.exists() and mark.read_text(encoding="utf-8") == wanted):
        if any(path.suffix != ".part" for path in folder.iterdir()) and not force:
            raise InputError(
                f"{folder} holds other videos; choose another folder, or say --force to replace them"
            )
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_bytes(mark, wanted.encode(), overwrite=True)
    labels = settings.labels()
    table = io.StringIO()
    rows = [["id", "name"], *([label.label_id, label.name] for label in labels)]
    csv.writer(table, lineterminator="\n").writerows(rows)
    write_bytes(folder / "labels.csv", table.getvalue().encode(), overwrite=True)
    render_all(settings.recordings(), folder, jobs, on_progress)
    return labels


def _title(dance: int) -> str:
    return compose_dance(dance).name.replace("-", " ").title()
