"""The nouns of the project: every layer speaks in these and in nothing else.

Time is in seconds and space in metres, y up. Frame numbers and word numbers exist
only inside the function that needs them. A noun is checked once, when it is made,
and its arrays are read-only from then on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dancematch.errors import InputError

FloatArray = NDArray[np.float32]
WordArray = NDArray[np.uint16]
BoneArray = NDArray[np.int8]
Verdict = Literal["match", "possible match", "no match"]

BONE_NUMBERS = 20  # x and y of ten bones: `directions.py`
BONE_SCALE = 63  # a direction of length 1 as a whole number
BONES_UNSEEN = -128
MAX_OFFSET = 2.0  # decades that a recalibration adds to a log likelihood ratio at most, either way
SEEN_FROM = 0.4  # visibility from which a word counts; below it the pose estimator only guesses


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise InputError(message)


def _frozen(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Return `values` as a read-only array, copied only if it is not one already."""
    array = np.asarray(values, dtype=dtype)
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array


class _PickledByFields:
    """Pickles as its fields, so that another process checks them and makes arrays read-only again."""

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]


class ShownInNotebooks:
    """Has a view for notebooks, which a higher row draws: `dancematch/__init__.py` says which."""

    draw: ClassVar[Callable[[Any], str] | None] = None  # one for all classes

    def _repr_html_(self) -> str | None:
        """What a notebook shows; None: the text."""
        draw = ShownInNotebooks.draw
        return None if draw is None else draw(self)


@dataclass(frozen=True)
class Skeleton:
    """A named joint layout: its joints, the tree they form, and which are mirror images."""

    name: str
    joints: tuple[str, ...]
    parents: tuple[int, ...]  # -1 for a root
    mirror: tuple[int, ...]  # mirror[i] is the joint on the other side; i itself on the midline

    def __post_init__(self) -> None:
        count = len(self.joints)
        _require(count > 0, f"skeleton {self.name!r} has no joints")
        _require(len(set(self.joints)) == count, f"skeleton {self.name!r} names a joint twice")
        _require(
            len(self.parents) == count and all(-1 <= p < i for i, p in enumerate(self.parents)),
            f"skeleton {self.name!r}: every parent must stand before its child",
        )
        _require(
            len(self.mirror) == count
            and all(0 <= m < count and self.mirror[m] == i for i, m in enumerate(self.mirror)),
            f"skeleton {self.name!r}: mirror must be its own inverse",
        )

    def index(self, joint: str) -> int:
        """Return the position of a joint in the layout."""
        try:
            return self.joints.index(joint)
        except ValueError:
            raise InputError(f"skeleton {self.name!r} has no joint {joint!r}") from None


@dataclass(frozen=True)
class Span:
    """A period of time, in seconds."""

    start: float
    end: float

    def __post_init__(self) -> None:
        _require(
            bool(0 <= self.start < self.end < float("inf")),
            f"a span needs 0 <= start < end, got {self.start} to {self.end}",
        )

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.start:.1f}-{self.end:.1f} s"


@dataclass(frozen=True)
class IgnoredTrack:
    """A track of a clip that is no dancer's."""

    span: Span  # from its first to its last frame
    reason: str  # in plain words, such as "2.2 s, head and shoulders only"


@dataclass(frozen=True, eq=False)
class Motion(_PickledByFields, ShownInNotebooks):
    """One dancer's joints over time, at an even frame rate."""

    joints: FloatArray  # [frames, joints, 3] metres, y up; NaN = unseen
    fps: float
    skeleton: Skeleton
    visibility: FloatArray = None  # type: ignore[assignment]  # [frames, joints] 0..1; derived if not given
    start: float = 0.0  # seconds of the first frame on the clock of the source

    def __post_init__(self) -> None:
        joints = _frozen(self.joints, np.float32)
        count = len(self.skeleton.joints)
        _require(
            joints.ndim == 3 and joints.shape[1:] == (count, 3),
            f"joints must be [frames, {count}, 3] for {self.skeleton.name!r}, got {list(joints.shape)}",
        )
        _require(len(joints) > 0, "a motion needs at least one frame")
        _require(not np.isinf(joints).any(), "joints must be finite, or NaN where unseen")
        _require(bool(0 < self.fps <= 1000), f"fps must be above 0 and at most 1000, got {self.fps}")
        _require(bool(0 <= self.start < float("inf")), f"start must be 0 or later, got {self.start}")
        seen = np.isfinite(joints).all(axis=2)
        given = seen if self.visibility is None else self.visibility
        visibility = np.asarray(given, dtype=np.float32)
        _require(
            visibility.shape == joints.shape[:2],
            f"visibility must be {list(joints.shape[:2])}, got {list(visibility.shape)}",
        )
        _require(bool(((visibility >= 0) & (visibility <= 1)).all()), "visibility must lie between 0 and 1")
        object.__setattr__(self, "joints", joints)
        object.__setattr__(self, "visibility", _frozen(np.where(seen, visibility, 0), np.float32))
        object.__setattr__(self, "fps", float(self.fps))
        object.__setattr__(self, "start", float(self.start))

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return len(self.joints) / self.fps

    @property
    def span(self) -> Span:
        """Start and end on the clock of the source."""
        return Span(self.start, self.start + self.seconds)

    def __getitem__(self, seconds: "slice | Span") -> "Motion":
        """The part between two moments on the clock of the source, which stays: `motion[2.0:5.0]`.

        As in every slice, either may be left out, one below 0 counts from the end, and what lies beyond an
        end is cut off. A span, as a match has it, does as well: `motion[match.query]`.
        """
        asked = slice(seconds.start, seconds.end) if isinstance(seconds, Span) else seconds
        _require(
            isinstance(asked, slice) and asked.step is None,
            f"a motion is cut by seconds, as in motion[2.0:5.0], got {asked!r}",
        )
        start = self._moment(asked.start, self.span.start)
        end = self._moment(asked.stop, self.span.end)
        first, last = (round((moment - self.start) * self.fps) for moment in (start, end))
        _require(first < last, f"nothing is between {start:g} and {end:g} s of a motion of {self.span}")
        part = slice(first, last)
        when = self.start + first / self.fps
        return Motion(self.joints[part], self.fps, self.skeleton, self.visibility[part], when)

    def _moment(self, asked: float | None, otherwise: float) -> float:
        """A moment of the motion, as a slice names it."""
        if asked is None:
            return otherwise
        moment = self.span.end + asked if asked < 0 else asked
        _require(moment == moment, f"a moment of a motion is a number of seconds, got {asked}")
        return float(min(max(moment, self.span.start), self.span.end))

    def __repr__(self) -> str:
        seen = f"{100 * float(self.visibility.mean()):.0f} % seen"
        return f"<Motion {self.span}, {self.fps:g} fps, {self.skeleton.name}, {seen}>"


@dataclass(frozen=True, eq=False)
class Fingerprint(_PickledByFields):
    """A motion as words, one per step and body part (channel), and the directions of its bones per step."""

    words: WordArray  # [steps, channels], each below `vocabulary`
    vocabulary: int  # words per channel
    seconds_per_word: float
    model_id: str
    start: float = 0.0  # seconds of the first word on the clock of the source
    visibility: FloatArray = None  # type: ignore[assignment]  # [steps, channels] 0..1; all seen if not given
    bones: BoneArray | None = None  # [steps, 20], see `directions.py`; None where no skeletons were seen

    def __post_init__(self) -> None:
        _require(0 < self.vocabulary <= 1 << 16, f"vocabulary must be 1 to 65536, got {self.vocabulary}")
        raw = np.asarray(self.words)
        _require(raw.ndim == 2 and raw.size > 0, f"words must be [steps, channels], got {list(raw.shape)}")
        _require(raw.dtype.kind in "iu", f"words must be whole numbers, got {raw.dtype}")
        _require(
            bool((raw >= 0).all() and (raw < self.vocabulary).all()),
            f"every word must lie in 0..{self.vocabulary - 1}",
        )
        _require(bool(0 < self.seconds_per_word < float("inf")), "seconds_per_word must be above 0")
        _require(bool(0 <= self.start < float("inf")), f"start must be 0 or later, got {self.start}")
        given = np.ones(raw.shape) if self.visibility is None else self.visibility
        visibility = _frozen(given, np.float32)
        _require(visibility.shape == raw.shape, "visibility must have the shape of words")
        _require(bool(((visibility >= 0) & (visibility <= 1)).all()), "visibility must lie between 0 and 1")
        object.__setattr__(self, "words", _frozen(raw, np.uint16))
        if self.bones is not None:
            bones = _frozen(self.bones, np.int8)
            _require(
                bones.shape == (len(raw), BONE_NUMBERS),
                f"bones must be [{len(raw)}, {BONE_NUMBERS}], got {list(bones.shape)}",
            )
            object.__setattr__(self, "bones", bones)
        object.__setattr__(self, "visibility", visibility)

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        steps, channels = self.words.shape
        when = self.span(0, steps - 1)
        return f"<Fingerprint {when}, {steps} steps of {channels} channels, {self.model_id}>"

    def span(self, first: int, last: int) -> Span:
        """Return the time that words `first` to `last` (inclusive) cover: the only way to seconds."""
        _require(0 <= first <= last < len(self), f"words {first} to {last} are not within 0..{len(self) - 1}")
        return Span(
            self.start + first * self.seconds_per_word, self.start + (last + 1) * self.seconds_per_word
        )

    def segment(self, first: int, last: int) -> Self:
        """Return the fingerprint of words `first` to `last` (inclusive), on the same clock."""
        when = self.span(first, last)
        return type(self)(
            words=self.words[first : last + 1],
            vocabulary=self.vocabulary,
            seconds_per_word=self.seconds_per_word,
            model_id=self.model_id,
            start=when.start,
            visibility=self.visibility[first : last + 1],
            bones=None if self.bones is None else self.bones[first : last + 1],
        )


@dataclass(frozen=True, eq=False)
class Codebook(_PickledByFields):
    """What the words of a model mean: one vector per word, and how similar two words are."""

    model_id: str
    channels: tuple[str, ...]
    vectors: FloatArray  # [channels, words, dimensions]
    similarity: FloatArray  # [channels, words, words], 1 on the diagonal

    def __post_init__(self) -> None:
        vectors = _frozen(self.vectors, np.float32)
        similarity = _frozen(self.similarity, np.float32)
        _require(
            vectors.ndim == 3 and len(vectors) == len(self.channels) > 0,
            f"vectors must be [{len(self.channels)}, words, dimensions], got {list(vectors.shape)}",
        )
        channels, words, _ = vectors.shape
        _require(
            similarity.shape == (channels, words, words),
            f"similarity must be {[channels, words, words]}, got {list(similarity.shape)}",
        )
        _require(
            bool(np.isfinite(vectors).all() and np.isfinite(similarity).all()), "a codebook must be finite"
        )
        _require(
            bool(np.allclose(similarity, similarity.transpose(0, 2, 1), atol=1e-5)),
            "similarity must be symmetric",
        )
        object.__setattr__(self, "vectors", vectors)
        object.__setattr__(self, "similarity", similarity)

    @property
    def vocabulary(self) -> int:
        """Words per channel."""
        return int(self.vectors.shape[1])


@dataclass(frozen=True)
class Passage:
    """A period of the query and the period of the known dance that matches it."""

    query: Span
    reference: Span
    tempo: float  # query's speed over the reference's


@dataclass(frozen=True)
class RecordingMatch:
    """A recording of a known dance beside the query; None where it is not known outside a catalogue."""

    recording: str | None  # file name
    recording_id: str | None
    track: int | None  # key of the dancer's track that was matched
    reference_dancer: int  # who that is, 1 = the most prominent
    reference: Span  # where in the recording
    query: Span  # where in the query
    mirrored: bool
    tempo: float | None  # query's speed over the reference's
    score: float
    log_ratio: float | None  # log10 of the likelihood ratio, of this recording alone


@dataclass(frozen=True)
class Match(ShownInNotebooks):
    """A known dance that a query may be, with the evidence."""

    dance_id: str
    score: float
    query: Span  # where in the query
    reference: Span  # where in the recording
    mirrored: bool = False
    tempo: float | None = None  # query's speed over the reference's; None where it was not measured
    dancer: int = 1  # of the query, 1 = the most prominent
    dance: str | None = None  # its name; None outside a catalogue
    recording: str | None = None  # file name of its recording that fits best; None outside a catalogue
    recording_id: str | None = None  # of that recording
    reference_dancer: int = 1  # of that recording, who was matched
    track: int | None = None  # key of that dancer's track in the catalogue
    segment: Span | None = None  # of that track: histogram and metrics compare the query with it alone
    verdict: Verdict = "no match"
    log_ratio: float | None = None  # log10 of the likelihood ratio that this is the same dance, pooled
    evalue: float | None = None  # how many dances of such a ratio a search of the catalogue gives by accident
    same_performance: bool = False  # the very same one, copied or filmed twice; False where it cannot be told
    parts: Mapping[str, float] = field(default_factory=dict)  # the score's parts by name
    turned: bool = False  # of a dancer not filmed from the front: compared as if from another side
    passages: tuple[Passage, ...] = ()  # all periods that match, best first; a repeated move comes again
    recordings: tuple[RecordingMatch, ...] = ()  # all that were scored, best first: the first is that above

    @property
    def name(self) -> str:
        """What the dance is called; outside a catalogue its id."""
        return self.dance or self.dance_id

    @property
    def track_keys(self) -> tuple[int, ...]:
        """The keys of the tracks that it is about, the best first."""
        own = (self.track, *(one.track for one in self.recordings))
        return tuple(dict.fromkeys(key for key in own if key is not None))

    def __repr__(self) -> str:
        recording = f" ({self.recording})" if self.recording else ""
        changed = ", mirrored" * self.mirrored + (f", x{self.tempo:.2f}" if self.tempo is not None else "")
        ratio = "" if self.log_ratio is None else f", log_ratio {self.log_ratio:.1f}"
        named = repr(self.name + recording)
        return f"<Match {named}, {self.verdict}, {self.query} like {self.reference}{changed}{ratio}>"
