"""The two texts of a release: the dataset card (README.md) and the datasheet (DATASHEET.md)."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dancematch.benchmark.release import ReleaseEntry
from dancematch.benchmark.splits import order_splits


@dataclass(frozen=True)
class ReleaseFacts:
    """What the two texts state besides the clips themselves."""

    edition: str  # how it was made, in a few words
    synthetic: bool
    model_id: str
    estimator: str
    clips_given: int
    left_out: Mapping[str, int]  # reason -> clips


def format_card(entries: Sequence[ReleaseEntry], facts: ReleaseFacts) -> str:
    """The dataset card; `datasets.load_dataset(FOLDER)` reads its header."""
    splits = order_splits([entry.split for entry in entries])
    files = "".join(f"  - split: {name}\n    path: data/{name}.jsonl\n" for name in splits)
    size = next(name for limit, name in _SIZES if len(entries) < limit)
    return f"""---
pretty_name: {json.dumps(f"DanceTypesBenchmark ({facts.edition})")}
license: {"apache-2.0" if facts.synthetic else "other"}
tags:
- dance
- motion
- skeleton
- retrieval
size_categories:
- {size}
configs:
- config_name: default
  data_files:
{files}dataset_info:
  config_name: default
  features:
{_format_features(entries)}---

# DanceTypesBenchmark ({facts.edition})

{len(entries)} performances of {len({entry.label_id for entry in entries})} dances by \
{len({entry.performer for entry in entries})} performers, as skeletons and motion words. No video is included.

    from datasets import load_dataset
    rows = load_dataset("PATH-OR-NAME-OF-THIS-FOLDER", split="{splits[0]}")

Each row names its label, its performer (a hash), and two files of this folder, both NumPy .npz:
`skeleton_file` and `word_file`. With DanceMatch installed:

    from dancematch.benchmark.release import read_release
    release = read_release("FOLDER")
    motions = release.motions(release.entries[0])

{_format_counts(entries)}
See [DATASHEET.md](DATASHEET.md) for where it comes from, what was left out, and under which licences.
"""


def _format_features(entries: Sequence[ReleaseEntry]) -> str:
    """The columns with their types: guessing them fails where a split's column is all null."""
    known = {"string": str, "bool": bool, "int64": int, "float64": float}
    types = {kind: name for name, kind in known.items()}
    lines = []
    for name, value in _merge_rows(entries).items():
        if isinstance(value, Mapping):
            lines += [f"  - name: {name}", "    struct:"]
            lines += [f"    - name: {key}\n      dtype: {types[type(part)]}" for key, part in value.items()]
        else:
            kind = "string" if name == "licence" else types.get(type(value), "'null'")
            lines += [f"  - name: {name}", f"    dtype: {kind}"]
    return "".join(f"{line}\n" for line in lines)


def _merge_rows(entries: Sequence[ReleaseEntry]) -> dict[str, Any]:
    """A row with a value in every column in which any row has one."""
    merged: dict[str, Any] = {}
    for entry in entries:
        for name, value in entry.to_row().items():
            if isinstance(value, Mapping):
                merged[name] = {**value, **(merged.get(name) or {})}
            elif merged.get(name) is None:
                merged[name] = value
    return merged


_SIZES = ((1000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (float("inf"), "100K<n<1M"))


def format_datasheet(entries: Sequence[ReleaseEntry], facts: ReleaseFacts) -> str:
    """The datasheet: the usual questions, answered from what was counted."""
    return "\n".join(
        [
            f"# Datasheet: DanceTypesBenchmark ({facts.edition})\n",
            "## Why it was made\n",
            "To measure how well a dance is recognised when another person performs it: other body, camera,",
            "tempo and room. A label is a choreography; an answer is right if it has the query's label.\n",
            "## What is in it\n",
            _format_counts(entries),
            _describe_labels(entries),
            "## How it was collected\n",
            _COLLECTED_SYNTHETIC if facts.synthetic else _COLLECTED,
            "## How it was prepared\n",
            f"Skeletons: {facts.estimator}, every dancer in view, 30 frames per second, smoothed, 15 joints",
            "in metres, y up; one rigid transform per clip puts the dancer at the origin, facing +z,",
            "feet at y = 0.",
            f"Words: model `{facts.model_id}`, made from exactly these skeletons.\n",
            "## Labels\n",
            "A label is taken from title, tags and description, spelt rightly or nearly so, if the clearest",
            "place that names a dance names one only. What was unclear was left to a person or left out.\n",
            _format_table("labelled by", Counter(entry.labelled_by for entry in entries)),
            "## Splits\n",
            "By performer: all clips that share any name or id of an uploader are in one split. Clips whose",
            "uploader is not known count as one performer. The same video is kept once; a copy that was",
            "uploaded by another person and encoded again is not detected.\n",
            _describe_overlap(entries),
            "## What was left out\n",
            f"{facts.clips_given} clips were given, {len(entries)} are in.\n",
            _format_table("reason", facts.left_out),
            "## Licences\n",
            _LICENCES_SYNTHETIC if facts.synthetic else _LICENCES,
            _format_table(
                "licence stated at the source", Counter(entry.licence or "none" for entry in entries)
            ),
            "## People\n",
            _PEOPLE_SYNTHETIC if facts.synthetic else _PEOPLE,
            "## Whether it is whole\n",
            "`sha256sum --check checksums.sha256` in this folder; `read_release` checks the same.\n",
        ]
    )


_COLLECTED = """\
Clips with the information that yt-dlp keeps beside them. The videos, titles and addresses are not
part of the release.
"""
_COLLECTED_SYNTHETIC = """\
Everything is rendered: mannequins perform procedural choreographies in front of virtual cameras, and
the videos went through the same builder as recorded clips. No person was filmed. `conditions` in the
manifest says what each clip shows: tempo, mirror image, camera, noise and who else is in the frame.
"""
_LICENCES = """\
Each clip's source keeps its own terms; what is stated there is counted below, "none" where nothing
is. Choreographies may be protected. Check that you may publish this release before you do.
"""
_LICENCES_SYNTHETIC = """\
Made by DanceMatch alone and under its licence, Apache-2.0; no third party's material is in it.
"""
_PEOPLE = """\
No video, picture, sound, title, address or name is included. Performers are keyed hashes, and the key
is not published. The joints of the face are left out. A skeleton may still be told from another by
proportions and manner: do not try to identify a person with it, and remove a clip when its performer asks.
"""
_PEOPLE_SYNTHETIC = """\
There are none: bodies and manners are drawn at random.
"""


def _format_counts(entries: Sequence[ReleaseEntry]) -> str:
    lines = ["| split | clips | labels | performers | minutes |", "|---|---|---|---|---|"]
    names = order_splits([entry.split for entry in entries])
    parts = [(name, [entry for entry in entries if entry.split == name]) for name in names]
    for name, part in [*parts, ("all", list(entries))]:
        labels, people = ({getattr(e, field) for e in part} for field in ("label_id", "performer"))
        minutes = sum(entry.seconds for entry in part) / 60
        lines.append(f"| {name} | {len(part)} | {len(labels)} | {len(people)} | {minutes:.1f} |")
    return "\n".join(lines) + "\n"


def _describe_labels(entries: Sequence[ReleaseEntry]) -> str:
    clips = sorted(Counter(entry.label_id for entry in entries).values())
    several = sum(entry.dancers > 1 for entry in entries)
    middle = clips[len(clips) // 2]
    return (
        f"Clips per label: {clips[0]} to {clips[-1]}, median {middle}."
        f" Clips that show several dancers: {several}.\n"
    )


def _describe_overlap(entries: Sequence[ReleaseEntry]) -> str:
    known = {entry.label_id for entry in entries if entry.split == "train"}
    asked = {entry.label_id for entry in entries if entry.split == "test"}
    return f"{len(asked & known)} of the {len(asked)} labels of `test` occur in `train` too.\n"


def _format_table(heading: str, counts: Mapping[str, int]) -> str:
    if not counts:
        return "Nothing.\n"
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    lines = [
        f"| {heading} | clips |",
        "|---|---|",
        *(f"| {_format_cell(name)} | {count} |" for name, count in rows),
    ]
    return "\n".join(lines) + "\n"


def _format_cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split())
