"""How often is the tempo of a dance right, by its movement and by its music?

    python eval/studies/tempo.py AISTPP_FOLDER CLIPS

Movement: AIST++ names carry the music, whose tempo is published: numbers 0 to 5 are 80 to 130 beats per
minute (house: 110 to 135). 300 sequences by seed, none of the 150 on which signals and limit were chosen.
Right is within 4 % up to a factor of two. Music: CLIPS has an index.csv (eval/README.md); recordings of one
dance have one song, so that their tempi must be one, within 2 %, and with the clips' lags their beats too,
within 0.07 s. The limit for music was chosen on these clips. Prints one JSON line each.
"""

import json
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from dancematch import formats
from dancematch.evaluation.real.clip_index import IndexedClip, read_index
from dancematch.formats.motion_capture.aist_names import list_sequences, parse_name
from dancematch.pipeline.counts import movement, music
from dancematch.pipeline.counts.counts import Counts

SEED, CHOSEN_ON, SAMPLE = 0, 150, 300
MOVEMENT_TOLERANCE, MUSIC_TOLERANCE, BEAT_SECONDS = 0.04, 0.02, 0.07
LIMITS = (0.0, 0.08, 0.12, 0.16, 0.2, 0.25)


def true_tempo(music_id: str) -> float:
    """Beats per minute of a piece of AIST's music: BR0 is 80."""
    number = int(music_id[-1])
    return 110.0 + 5 * number if music_id.startswith("HO") else 80.0 + 10 * number


def is_right(found: float, true: float, tolerance: float) -> bool:
    """Whether two tempi are one up to a factor of two."""
    octaves = np.log2(found / true)
    return bool(abs(octaves - round(octaves)) < np.log2(1 + tolerance))


def measure_movement(folder: Path) -> dict[str, object]:
    """The share of tempi that are right, at several limits and by genre."""
    every = list(list_sequences(folder))
    order = np.random.default_rng(SEED).permutation(len(every))
    rows = []
    for path in (every[number] for number in order[CHOSEN_ON : CHOSEN_ON + SAMPLE]):
        name = parse_name(path.stem)
        bpm, margin = movement.measure_tempo(formats.read(path)[0])
        rows.append((name.genre, is_right(bpm, true_tempo(name.music), MOVEMENT_TOLERANCE), margin))
    return {
        "check": "tempo of movement", "seed": SEED, "sequences": len(rows),
        "limit": movement.LEAST_CONFIDENCE,
        "by_limit": {str(limit): summarise(rows, limit) for limit in LIMITS},
        "by_genre": {
            genre: summarise([row for row in rows if row[0] == genre], movement.LEAST_CONFIDENCE)
            for genre in sorted({row[0] for row in rows})
        },
    }  # fmt: skip


def summarise(rows: Sequence[tuple[str, bool, float]], limit: float) -> dict[str, object]:
    """How many have counts at a limit of the margin, and how many of these are right."""
    counted = [right for _, right, margin in rows if margin >= limit]
    share = round(float(np.mean(counted)), 3) if counted else None
    return {"sequences": len(rows), "counted": len(counted), "right": sum(counted), "share_right": share}


def measure_music(folder: Path) -> dict[str, object]:
    """How often two recordings to one song have one tempo, and one beat."""
    clips = [clip for clip in read_index(folder) if clip.kind == "dance"]
    counted = {clip.file: music.count_music(folder / clip.file) for clip in clips}
    pairs = [
        (one, other) for one, other in combinations(clips, 2)
        if one.dance == other.dance and counted[one.file].counts and counted[other.file].counts
    ]  # fmt: skip
    tempi, beats = [], []
    for one, other in pairs:
        first, second = counted[one.file].counts, counted[other.file].counts
        tempi.append(is_right(first.bpm, second.bpm, MUSIC_TOLERANCE))
        if one.lag_seconds is not None and other.lag_seconds is not None:
            beats.append(same_beat(one, first, other, second))
    return {
        "check": "tempo of music", "clips": len(clips), "limit": music.LEAST_CONFIDENCE,
        "counted": sum(one.counts is not None for one in counted.values()),
        "no_sound": sum(one.reason == "there is no sound track" for one in counted.values()),
        "pairs": len(pairs), "same_tempo": sum(tempi), "pairs_with_lag": len(beats), "same_beat": sum(beats),
    }  # fmt: skip


def same_beat(one: IndexedClip, first: Counts, other: IndexedClip, second: Counts) -> bool:
    """Whether the beats of two recordings to one song fall together on the song's clock."""
    apart = (first.first - one.lag_seconds) - (second.first - other.lag_seconds)
    beside = (apart / first.seconds_per_count + 0.5) % 1 - 0.5
    return bool(abs(beside) * first.seconds_per_count <= BEAT_SECONDS)


def main() -> None:
    """Measure both."""
    print(json.dumps(measure_movement(Path(sys.argv[1]))), flush=True)
    print(json.dumps(measure_music(Path(sys.argv[2]))))


if __name__ == "__main__":
    main()
