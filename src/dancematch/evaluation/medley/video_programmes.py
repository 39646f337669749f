"""Programmes as one video file: excerpts of clips, changed as pictures, joined by hard cuts, black in gaps.

All pictures have one size, with black bars where the clip's own shape differs, and thirty frames per second,
taken by the clips' own time stamps.
"""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

import av
import numpy as np
from numpy.typing import NDArray

from dancematch.evaluation.medley.programme import (
    AS_IT_IS,
    MIRRORED,
    NOISY,
    TEMPO,
    Programme,
    ProgrammeItem,
)
from dancematch.evaluation.real.clip_index import COLUMNS, GAME_CHARACTER, INDEX
from dancematch.motion import FPS
from dancematch.pose.video import read_frames
from dancematch.synthetic.dance.choreography import compose_dance
from dancematch.synthetic.demo import Scene

Image = NDArray[np.uint8]
SIZE = (1280, 720)
SMALLER = 0.6
DARKER = 0.45
NOISE = 14.0  # of 255
RENDERED_DANCES, RENDERED_UNKNOWN = 4, 2
FIRST_RENDERED = 40  # seed of the first dance: the demo has the lower ones


def _add_noise(image: Image, rng: np.random.Generator) -> Image:
    noise = rng.normal(0, NOISE, image.shape[:2]).astype(np.float32)[..., None]
    return np.asarray(np.clip(image + noise, 0, 255), dtype=np.uint8)


PICTURE_CHANGES: Mapping[str, Callable[[Image, np.random.Generator], Image]] = MappingProxyType(
    {
        AS_IT_IS: lambda image, _: image,
        MIRRORED: lambda image, _: image[:, ::-1],
        TEMPO: lambda image, _: image,
        NOISY: _add_noise,
        "smaller": lambda image, _: image,
        "darker": lambda image, _: (image * DARKER).astype(np.uint8),
    }
)


def write_programme(programme: Programme, files: Mapping[str, Path], target: Path) -> None:
    """Write the programme as a video; `files` are the videos of its recordings. It appears when complete."""
    unfinished = target.with_name(f".{target.name}.part")
    with av.open(str(unfinished), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=Fraction(round(FPS)))
        stream.width, stream.height = SIZE
        stream.pix_fmt = "yuv420p"
        stream.options = {"crf": "23", "preset": "veryfast"}
        for image in draw_frames(programme, files):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode(None))
    unfinished.rename(target)


def draw_frames(programme: Programme, files: Mapping[str, Path]) -> Iterator[Image]:
    """Yield every frame of the programme."""
    black = np.zeros((SIZE[1], SIZE[0], 3), dtype=np.uint8)
    for item in programme.items:
        if item.recording is None:
            yield from (black for _ in range(item.frames))
        else:
            yield from _draw_item(item, files[item.recording])


def _draw_item(item: ProgrammeItem, path: Path) -> Iterator[Image]:
    """Yield the item's frames: at each moment the latest picture of the clip; at its end the last one."""
    change, rng = PICTURE_CHANGES[item.change], np.random.default_rng(item.seed)
    share = SMALLER if item.change == "smaller" else 1.0
    moments = item.start + np.arange(item.frames) * item.tempo / FPS
    done, shown = 0, None
    with read_frames(path, longest_side=max(SIZE)) as frames:
        for frame in frames:
            while done < len(moments) and shown is not None and moments[done] < frame.seconds - 1e-6:
                yield shown
                done += 1
            if done == len(moments):
                return
            # A clip that begins late shows its first picture until then.
            if shown is None or frame.seconds > moments[done] - 0.5:
                shown = _letterbox(change(frame.image, rng), share)
    if shown is not None:
        yield from (shown for _ in range(len(moments) - done))


def _letterbox(image: Image, share: float) -> Image:
    """The picture in the middle of a black frame, as large as fits, or a share of that."""
    height, width = image.shape[:2]
    scale = share * min(SIZE[0] / width, SIZE[1] / height)
    fitted = (round(width * scale) // 2 * 2, round(height * scale) // 2 * 2)
    picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24")
    scaled = picture.reformat(*fitted).to_ndarray()
    frame = np.zeros((SIZE[1], SIZE[0], 3), dtype=np.uint8)
    left, top = (SIZE[0] - fitted[0]) // 2, (SIZE[1] - fitted[1]) // 2
    frame[top : top + fitted[1], left : left + fitted[0]] = scaled
    return frame


def render_clips(folder: Path) -> None:
    """Render dances by two mannequins each, and some that are not known; a folder of clips with an index."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [",".join(COLUMNS)]
    for number in range(RENDERED_DANCES + RENDERED_UNKNOWN):
        seed = FIRST_RENDERED + number
        is_known = number < RENDERED_DANCES
        for dancer in range(2 if is_known else 1):
            azimuth = 15.0 * ((number + dancer) % 3 - 1)
            name = f"rendered-{compose_dance(seed).name}-{dancer}"
            file = Scene(name, dance=seed, dancer=2 * seed + dancer, azimuth=azimuth).render_to(folder).name
            kind, group = ("dance", f"rendered {compose_dance(seed).name}") if is_known else ("single", "")
            rows.append(f"{file},{kind},{group},{dancer if is_known else ''},,{GAME_CHARACTER}")
    (folder / INDEX).write_text("\n".join(rows) + "\n", encoding="utf-8")
