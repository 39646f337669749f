"""What a JSON text takes is told before it is parsed: rightly, and in time that grows with its length."""

import json
import sys
import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dancematch.formats import json_size, limits
from dancematch.formats.json_detection import _close_brackets
from dancematch.formats.json_size import estimate_parsed_bytes, measure
from dancematch.formats.keypoints.coco import _last_number, _natural_key
from dancematch.formats.motion_capture import bvh
from dancematch.formats.motion_capture.bvh_names import parse_joint_name

DOCUMENTS = st.recursive(
    st.none() | st.integers() | st.text(alphabet='":\\ax é\n😀,{}[]'),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('":\\a', max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)

LONG_TEXTS = {
    "escaped marks": '["' + '\\"' * 500_000 + '"]',
    "escaped marks, cut short": '["' + '\\"' * 500_000,
    "backslashes, cut short": '["' + "\\" * 1_000_001,
    "one letter": '["' + "x" * 1_000_000 + '"]',
    "blanks after a text": '["a"' + " " * 1_000_000 + '"a"',
    "marks": '"' * 1_000_000,
    "blanks between marks": '"" ' * 333_000,
    "colons": ":" * 1_000_000,
    "keys": "{" + '"a":1,' * 166_000 + "}",
}

LARGE_CONTENTS = {
    "objects of 22 keys": json.dumps([{f"k{n}": 1.5 for n in range(22)}] * 900, separators=(",", ":")),
    "objects of a key": "[" + ",".join(['{"x":0.5}'] * 9_000) + "]",
    "an object of many keys": "{" + ",".join(f'"k{n}":{n}.5' for n in range(9_999)) + "}",
    "lists": "[" + ",".join(["[0.5]"] * 9_000) + "]",
    "numbers": "[" + ",".join(["0.5"] * 90_000) + "]",
    "texts": "[" + ",".join(['"\\u0101b"'] * 9_000) + "]",
    "a wide text": '["' + "x" * 100_000 + '\\ud83d\\ude00"]',
    "texts, and colons in one": '["' + ":" * 9_000 + '"' + ',"ab"' * 9_000 + "]",
}  # fmt: skip


def count(content: object) -> tuple[int, int, set[str]]:
    """How many texts and keys a parsed content has, and which keys."""
    if isinstance(content, dict):
        inside = [count(value) for value in content.values()]
        own = set(content)
    else:
        inside, own = [count(value) for value in content] if isinstance(content, list) else [], set()
    texts = isinstance(content, str) + sum(one[0] for one in inside)
    return texts, len(own) + sum(one[1] for one in inside), own.union(*(one[2] for one in inside))


def processor_seconds(work, *arguments):
    start = time.process_time()
    work(*arguments)
    return time.process_time() - start


@given(content=DOCUMENTS, is_ascii=st.booleans(), indent=st.none() | st.just(1))
@settings(deadline=None)
def test_texts_and_keys_are_counted_as_they_are_parsed(content, is_ascii, indent):
    """Marks, colons and backslashes within texts, escaped or not, change no number."""
    text = json.dumps(content, ensure_ascii=is_ascii, indent=indent)
    texts, keys, different = count(json.loads(text))
    found = measure(text)

    assert (texts, keys, len(different)) == (found.texts, found.keys, found.different_keys)


@pytest.mark.parametrize("name", LARGE_CONTENTS)
def test_the_estimate_is_what_the_parsed_content_takes(name):
    """At least what is held, and no more than four times as much."""
    text = LARGE_CONTENTS[name]
    tracemalloc.start()
    content = json.loads(text)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert content
    assert 0.99 * held <= estimate_parsed_bytes(text, measure(text)) - sys.getsizeof(text) <= 4 * held


@pytest.mark.parametrize("name", LONG_TEXTS)
def test_a_text_is_measured_in_time_and_memory_that_its_length_explains(name):
    """A megabyte takes a fraction of two seconds, four take about four times that, and hardly any memory."""
    text = LONG_TEXTS[name]
    short = processor_seconds(measure, text)
    assert short < 2
    assert processor_seconds(measure, text * 4) < 16 * short + 0.5
    tracemalloc.start()
    measure(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


def test_counting_ends_where_there_are_too_many_keys(monkeypatch):
    monkeypatch.setattr(limits, "MAX_KEYS", 3)
    found = measure("{" + ",".join(f'"{n}":1' for n in range(100)) + "}")

    assert (4, True) == (found.different_keys, found.has_too_many_keys)
    assert not json_size.measure('{"a":1,"b":1,"c":1,"a":1}').has_too_many_keys


@pytest.mark.parametrize(
    ("work", "text"),
    [
        *((_close_brackets, text) for text in LONG_TEXTS.values()),
        (_close_brackets, "[" * 1_000_000),
        (_close_brackets, "[]" + "," * 1_000_000),
        (_natural_key, "1a" * 500_000),
        (_natural_key, "1" * 1_000_000),
        (_last_number, "1" * 1_000_000 + "a"),
        (parse_joint_name, "A" * 1_000_000),
        (parse_joint_name, "A:" * 500_000),
        (parse_joint_name, "_" * 1_000_000),
        (bvh._MOTION.search, b"\n" + b" " * 1_000_000),
        (bvh._MOTION.search, b"\n " * 500_000),
        (bvh._MOTION.search, b"\nMOTION" + b" " * 1_000_000 + b"x"),
        (bvh._MOTION.search, b"\nMOTION x" * 120_000),
        (bvh._FRAMES.match, b" " * 1_000_000),
        (bvh._FRAMES.match, b"Frames: 1" + b" " * 1_000_000),
        (bvh._FRAMES.match, b"Frames: 1 Frame Time:" + b" " * 1_000_000),
    ],
)
def test_no_pattern_looks_back_over_a_long_text(work, text):
    """A megabyte that nearly fits a pattern, at every place or at none, is judged within two seconds."""
    assert processor_seconds(work, text) < 2
