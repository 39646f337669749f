"""Titles, tags and descriptions -> canonical labels; unclear clips are left to a person.

A text is compared by its words in plain letters: "Pelé's #AirPunch!" is `peles airpunch`. A
label is found by its name, its aliases, its whole id, and each of them written in one word, as
hashtags are. The clearest place that names any label decides; if it names two, the clip is unclear.
"""

import csv
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from dancematch.errors import InputError, MissingExtraError

_SHORTEST_ONE_WORD = 6  # letters of a name of several words that may be written as one
_SHORTEST_FUZZY = 7  # letters: among shorter words too many are one letter apart
_FUZZY_PERCENT = 88.0
_FUZZY_MARGIN = 4.0  # percent: a runner-up within it makes the clip unclear
_RIVALS = frozenset(
    {"vs", "versus", "or", "and", "x"}
)  # between two labels: the clip may show either, or both
_CUES = frozenset({"emote", "emotes", "dance", "dances", "challenge"})
_FILLER = _CUES | set(
    """
    a an and at by clip dancing danced do doing everyone for foryou foryoupage fn fortnite fyp game gaming
    how hour i icon im in irl its life me my new of official on original perfect real series short shorts
    sync the this tiktok to trend trending tutorial version video viral with you your youtube
    """.split()  # noqa: SIM905  (sixty quotation marks would hide the words)
)

Words = tuple[str, ...]  # of a text


@dataclass(frozen=True)
class Label:
    """A dance type and its names."""

    label_id: str
    name: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class LabelDecision:
    """A clip's label and the place that names it, or why a person must decide."""

    label_id: str | None
    reason: str  # the place that names the label, or what is unclear
    score: float = 0.0  # similarity of the spelling; 1 for a known one
    candidates: tuple[str, ...] = ()  # label ids, when it is unclear


class _Hit(NamedTuple):
    label_id: str
    first: int
    last: int  # exclusive
    ordinary: bool  # one everyday word, which may occur by chance


def read_labels(path: str | Path) -> list[Label]:
    """The labels of a CSV with the columns `id`, `name` and optionally `aliases` (separated by |)."""
    path = Path(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            missing = {"id", "name"} - set(reader.fieldnames or ())
            if missing:
                raise InputError(f"{path} has no column {' and no '.join(sorted(missing))}; labels need both")
            labels = [_parse_label(row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"the labels {path} cannot be read: {reason}") from None
    ids = Counter(label.label_id for label in labels)
    twice = next((each for each, count in ids.items() if count > 1), None)
    if not labels or twice is not None or not all(ids):
        wrong = f"the id {twice!r} twice" if twice else "an empty id" if labels else "no label"
        raise InputError(f"{path} has {wrong}; every label needs an id of its own")
    return labels


def _parse_label(row: Mapping[str, str | None]) -> Label:
    aliases = (row.get("aliases") or "").split("|")
    given = tuple(alias.strip() for alias in aliases if alias.strip())
    return Label((row["id"] or "").strip(), (row["name"] or "").strip(), given)


def normalise_words(text: str) -> Words:
    """The words of a text in plain lower case: no accents, apostrophes, signs or emoji."""
    plain = unicodedata.normalize("NFKD", text.replace("&", " and ")).casefold()
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return tuple(re.findall(r"[^\W_]+", re.sub(r"['’‘`´]", "", plain)))


class Labeller:
    """Finds the label that a clip's texts name."""

    def __init__(self, labels: Sequence[Label]) -> None:
        try:
            from rapidfuzz import fuzz, process
        except ImportError:
            raise MissingExtraError(
                "labels are matched with rapidfuzz: pip install 'dancematch[benchmark]'"
            ) from None
        self._cdist, self._ratio = process.cdist, fuzz.ratio
        self.labels = {label.label_id: label for label in labels}
        self._spellings: dict[Words, list[str]] = {}
        for label in labels:
            for words in dict.fromkeys(_list_spellings(label)):
                self._spellings.setdefault(words, []).append(label.label_id)
        self._longest = max(map(len, self._spellings), default=0)
        self._joined: dict[str, set[str]] = {}  # for misspellings: of names only, since ids are copied
        for label in labels:
            for text in (label.name, *label.aliases):
                self._joined.setdefault("".join(normalise_words(text)), set()).add(label.label_id)
        self._fuzzy = sorted(text for text in self._joined if len(text) >= _SHORTEST_FUZZY)

    def find(self, title: str, tags: Sequence[str] = (), description: str = "") -> LabelDecision:
        """The label that these texts name, from the clearest place that names one."""
        places = self._search_places(
            normalise_words(title), [normalise_words(tag) for tag in tags], normalise_words(description)
        )
        for place, found in places:
            if len(found) == 1:
                ((label_id, score),) = found.items()
                return LabelDecision(label_id, place, score)
            if found:
                return LabelDecision(None, f"{place}: several labels", candidates=tuple(sorted(found)))
        hits = [
            hit
            for text in (normalise_words(title), *map(normalise_words, tags))
            for hit in self._find_hits(text)
        ]
        if hits:
            ids = tuple(sorted({hit.label_id for hit in hits}))
            return LabelDecision(None, "an ordinary word that is also a label", candidates=ids)
        return LabelDecision(None, "no label is named")

    def _search_places(
        self, title: Words, tags: Sequence[Words], description: Words
    ) -> Iterator[tuple[str, dict[str, float]]]:
        """The places from clear to unclear, each with the labels named there and their spelling score."""
        yield "title is the label", self._find_whole(title)
        named = self._find_named(title)
        # "Windmll Floss" names Floss, and nearly another label: unclear.
        yield "title names the label", {**self._find_similar([title]), **named} if named else {}
        yield "title nearly names the label", self._find_similar([title])
        yield "tag is the label", self._find_tagged(title, tags)
        yield "tag names the label", {key: 1.0 for tag in tags for key in self._find_named(tag)}
        yield "tag nearly names the label", self._find_similar(tags)
        yield "description names the label", self._find_named(description)

    def _find_hits(self, words: Words) -> list[_Hit]:
        """Every label that occurs, except within a longer one: "Banner Wave" is no "Wave"."""
        found = [
            _Hit(label_id, first, first + length, length == 1 and not self._is_joined(words[first], label_id))
            for first in range(len(words))
            for length in range(1, min(self._longest, len(words) - first) + 1)
            for label_id in self._spellings.get(words[first : first + length], ())
        ]
        return [hit for hit in found if not any(_is_within(hit, other) for other in found)]

    def _is_joined(self, word: str, label_id: str) -> bool:
        """Whether this one word is a label of several words, written like a hashtag."""
        known = _list_spellings(self.labels[label_id])
        return any(len(words) > 1 and "".join(words) == word for words in known)

    def _find_whole(self, words: Words) -> dict[str, float]:
        """Labels that make up the whole text, apart from filler words."""
        hits = self._find_hits(words)
        found = {}
        for label_id in {hit.label_id for hit in hits}:
            covered = {at for hit in hits if hit.label_id == label_id for at in range(hit.first, hit.last)}
            if all(at in covered or word in _FILLER for at, word in enumerate(words)):
                found[label_id] = 1.0
        return found

    def _find_tagged(self, title: Words, tags: Sequence[Words]) -> dict[str, float]:
        """Labels that are a whole tag; an ordinary word only if the title has it too."""
        titled = {hit.label_id for hit in self._find_hits(title)}
        whole = {key for tag in tags for key in self._find_whole(tag)}
        named = {key for tag in tags for key in self._find_named(tag)}
        return dict.fromkeys(whole & (titled | named), 1.0)

    def _find_named(self, words: Words) -> dict[str, float]:
        """Labels unlikely to occur by chance: several words, or beside "dance", "emote" or a rival."""
        hits = self._find_hits(words)
        return {
            hit.label_id: 1.0
            for hit in hits
            if not hit.ordinary
            or _has_cue(words, hit)
            or any(_are_rivals(words, hit, other) for other in hits)
        }

    def _find_similar(self, texts: Sequence[Words]) -> dict[str, float]:
        """Labels that some consecutive words misspell; numbers must be the same."""
        windows = sorted({window for words in texts for window in self._join_windows(words)})
        if not windows or not self._fuzzy:
            return {}
        table = self._cdist(windows, self._fuzzy, scorer=self._ratio, score_cutoff=_FUZZY_PERCENT)
        best: dict[str, float] = {}
        for row, column in zip(*table.nonzero(), strict=True):
            if _keep_digits(windows[row]) == _keep_digits(self._fuzzy[column]):
                for label_id in self._joined[self._fuzzy[column]]:
                    best[label_id] = max(best.get(label_id, 0.0), float(table[row, column]))
        top = max(best.values(), default=0.0)
        return {key: score / 100 for key, score in best.items() if score >= top - _FUZZY_MARGIN}

    def _join_windows(self, words: Words) -> Iterator[str]:
        for first in range(len(words)):
            for last in range(first + 1, min(first + self._longest + 1, len(words)) + 1):
                if not _FILLER.issuperset(words[first:last]):
                    yield "".join(words[first:last])


def _list_spellings(label: Label) -> Iterator[Words]:
    for text in (label.name, *label.aliases, label.label_id):
        words = normalise_words(text)
        if words:
            yield words
            if len(words) > 1 and len("".join(words)) >= _SHORTEST_ONE_WORD:
                yield ("".join(words),)


def _is_within(hit: _Hit, other: _Hit) -> bool:
    return (
        other.first <= hit.first
        and hit.last <= other.last
        and other.last - other.first > hit.last - hit.first
    )


def _has_cue(words: Words, hit: _Hit) -> bool:
    return bool(_CUES.intersection(words[max(hit.first - 1, 0) : hit.first] + words[hit.last : hit.last + 1]))


def _are_rivals(words: Words, hit: _Hit, other: _Hit) -> bool:
    """Whether the two stand as in "Floss vs Orange Justice", and the other is no ordinary word."""
    first, second = sorted((hit, other), key=lambda each: each.first)
    between = words[first.last : second.first]
    return not other.ordinary and len(between) == 1 and between[0] in _RIVALS


def _keep_digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))
