"""An edit in sentences: what is different between two images."""

from collections.abc import Iterator

from dancematch.catalogue.editing.images import DanceImage, Images, RecordingImage


def describe_changes(before: Images, after: Images) -> list[str]:
    """Return what an edit changes, a sentence each, dances first."""
    changed = after.without(before)
    own, new = _by_dance(before), _by_dance(after)
    sentences: list[str] = []
    for key, dance in changed.dances.items():
        old = before.dances.get(key)
        if dance is None and old is not None:
            sentences.append(_describe_gone(old, own[key], after))
        elif dance is not None and old is None:
            sentences.append(_describe_made(dance, new[key], before))
        elif dance is not None and old is not None:
            sentences += _describe_dance(old, dance)
    told = {key for key, one in changed.dances.items() if one is None or before.dances.get(key) is None}
    for key, recording in changed.recordings.items():
        sentences += _describe_recording(before.recordings[key], recording, before, after, told)
    return sentences


def _by_dance(images: Images) -> dict[str, list[str]]:
    """Return the ids of recordings by that of their dance."""
    found: dict[str, list[str]] = {}
    for key, one in images.recordings.items():
        found.setdefault(one.dance_id, []).append(key)
    return found


def _describe_dance(old: DanceImage, new: DanceImage) -> Iterator[str]:
    if old.name != new.name:
        yield f"{old.name} is now called {new.name}"
    for label in new.labels:
        if label not in old.labels:
            yield f"{new.name}: label {label} added"
    for label in old.labels:
        if label not in new.labels:
            yield f"{new.name}: label {label} removed"
    for what in ("collection", "notes"):
        if getattr(old, what) != getattr(new, what):
            yield f"{new.name}: {what} {_value(getattr(new, what))}"


def _value(value: str | None) -> str:
    return "removed" if value is None else value


def _describe_gone(old: DanceImage, own: list[str], after: Images) -> str:
    """A dance whose recordings are all of others now."""
    into = [after.dances[key] for key in dict.fromkeys(after.recordings[key].dance_id for key in own)]
    names = [one.name for one in into if one is not None]
    lost = ""
    target = into[0]
    if len(into) == 1 and target is not None:
        labels = [label for label in old.labels if label not in target.labels]
        facts = [f"label {label}" for label in labels]
        facts += [f"collection {old.collection}"] * (old.collection not in (None, target.collection))
        facts += ["its notes"] * bool(old.notes and old.notes not in (target.notes or ""))
        lost = f"; lost with it: {', '.join(facts)}" if facts else ""
    return f"{old.name}: merged into {' and '.join(names)} with {_count(len(own))}{lost}"


def _describe_made(new: DanceImage, own: list[str], before: Images) -> str:
    """A dance that was not there before."""
    of = list(dict.fromkeys(_name(before, before.recordings[key].dance_id) for key in own))
    return f"{new.name}: a dance of its own, with {_count(len(own))} of {' and '.join(of)}"


def _describe_recording(
    old: RecordingImage, new: RecordingImage, before: Images, after: Images, told: set[str]
) -> Iterator[str]:
    for what in ("performer", "url", "date"):
        if getattr(old, what) != getattr(new, what):
            yield f"{new.file} ({_name(after, new.dance_id)}): {what} {_value(getattr(new, what))}"
    if old.dance_id != new.dance_id and not told & {old.dance_id, new.dance_id}:
        yield f"{new.file}: moved from {_name(before, old.dance_id)} to {_name(after, new.dance_id)}"
    yield from _describe_segments(old, new)


def _describe_segments(old: RecordingImage, new: RecordingImage) -> Iterator[str]:
    for one in new.excluded:
        if one not in old.excluded:
            reason = "" if one.reason is None else f": {one.reason}"
            yield f"{new.file}: {one.start:.2f} to {one.end:.2f} s never match{reason}"
    if old.excluded and not new.excluded:
        yield f"{new.file}: all of it may match again, {len(old.excluded)} segment(s) cleared"
        return
    for one in old.excluded:
        if not any(other.start < one.end and other.end > one.start for other in new.excluded):
            yield f"{new.file}: {one.start:.2f} to {one.end:.2f} s may match again"


def _name(images: Images, dance_id: str) -> str:
    dance = images.dances.get(dance_id)
    return "?" if dance is None else dance.name


def _count(recordings: int) -> str:
    return f"{recordings} recording{'' if recordings == 1 else 's'}"
