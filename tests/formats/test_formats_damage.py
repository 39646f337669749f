import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dancematch import formats
from dancematch.errors import FormatError, InputError
from formats_samples import SAMPLES, dancer

FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=SAMPLES)
def sample(request, tmp_path):
    """Give the path of a sound file of each format."""
    path = tmp_path / request.param
    SAMPLES[request.param](path)
    return path


def read_or_refuse(path):
    """Read the file, or check that it is refused in one sentence that names it."""
    try:
        motions, refusal = formats.read(path), ""
    except InputError as error:
        motions, refusal = [], str(error)
    assert motions or path.name in refusal
    assert "\n" not in refusal


def test_every_sample_is_read_and_described(sample):
    """The files that the other tests damage are sound, and their description says what they hold."""
    described = formats.describe(sample)

    assert described.format
    assert described.explanation
    assert described.skeleton == described.motions[0].skeleton.name
    assert len(described.motions) == len(formats.read(sample))
    assert formats.is_motion_file(sample)


@FUZZ
@given(share=st.floats(0, 0.999))
def test_truncated_files_are_refused(sample, share):
    """A file cut short anywhere is refused by our own error."""
    whole = sample.read_bytes()
    cut = sample.with_name(f"cut{sample.suffix}")
    cut.write_bytes(whole[: int(len(whole) * share)])
    if sample.suffix in (".bvh", ".csv"):  # a last number may lose digits, a table rows, and still be sound
        read_or_refuse(cut)
        return
    with pytest.raises(InputError, match="cut"):
        formats.read(cut)


@FUZZ
@given(data=st.data())
def test_damaged_bytes_never_show_another_librarys_error(sample, data):
    """Whatever bytes are changed, the file is read or refused by our own error."""
    content = bytearray(sample.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        # Headers and directories are where damage does most.
        ends = st.integers(0, min(300, len(content) - 1)) | st.integers(1, min(300, len(content))).map(
            lambda n: -n
        )
        place = data.draw(ends | st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    damaged = sample.with_name(f"damaged{sample.suffix}")
    damaged.write_bytes(content)
    read_or_refuse(damaged)


@pytest.mark.parametrize("suffix", formats.list_suffixes())
@FUZZ
@given(content=st.binary(max_size=300))
def test_random_bytes_are_refused(tmp_path, suffix, content):
    path = tmp_path / f"noise{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError, match="noise"):
        formats.read(path)


@pytest.mark.parametrize("suffix", formats.list_suffixes())
def test_missing_empty_and_folder_have_their_own_messages(tmp_path, suffix):
    """The three commonest mistakes have a sentence each."""
    with pytest.raises(InputError, match="does not exist"):
        formats.read(tmp_path / f"a{suffix}")
    (tmp_path / f"a{suffix}").touch()
    with pytest.raises(FormatError, match="is empty"):
        formats.read(tmp_path / f"a{suffix}")
    (tmp_path / f"b{suffix}").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        formats.read(tmp_path / f"b{suffix}")


@pytest.mark.parametrize("name", ["a.mp4", "a", "a.txt"])
def test_other_suffixes_are_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(FormatError, match=r"\.npz, \.bvh"):
        formats.read(tmp_path / name)
    assert not formats.is_motion_file(tmp_path / name)


@pytest.mark.parametrize("fps", [0, -1, 1e9, float("nan")])
def test_impossible_rates_are_refused(tmp_path, fps):
    formats.write(tmp_path / "a.npz", [dancer()])
    with pytest.raises(InputError, match="fps"):
        formats.read(tmp_path / "a.npz", fps=fps)


def test_importing_the_room_is_light():
    """Neither torch nor a reader is loaded before it is needed."""
    code = (
        "import sys, dancematch.formats; "
        "print(sorted(m for m in sys.modules if m.startswith(('torch', 'scipy', 'dancematch.formats.'))))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert str(["dancematch.formats.detection", "dancematch.formats.registry"]) == out.strip()
