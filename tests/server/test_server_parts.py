"""The parts of the service, each by itself."""

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import anyio
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from cli_samples import run_main
from dance_samples import dance, digest, random_words, recorded, save_small_model, shipped, write_dance
from dancematch.catalogue.listing import read_dance, read_names, read_page, sample_dance_ids
from dancematch.catalogue.records import Dance, Recording
from dancematch.catalogue.store import Store, StoredTrack
from dancematch.errors import CatalogueError, DanceMatchError, InputError, UnknownDanceError, VideoError
from dancematch.pipeline.analysis.clip_files import find_clips
from dancematch.pipeline.analysis.file_analysis import Analysis, error_named
from dancematch.pipeline.answer import Answer
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.pipeline.query import query_of_motions
from dancematch.report.evidence import QueryFile
from dancematch.server import limits
from dancematch.server.access.tokens import ALL_SCOPES, NO_SCOPES, Tokens, read_tokens
from dancematch.server.dances import DanceService
from dancematch.server.files.upload import Upload, receive
from dancematch.server.files.videos import media_type_of
from dancematch.server.jobs.worker import check_lengths
from dancematch.server.limits import MAX_DANCERS
from dancematch.server.metrics import SECONDS, Metrics, ServiceState
from dancematch.server.options import Options, is_loopback
from dancematch.server.overview.dance_map import DanceMap, fit_projection
from dancematch.server.overview.vocabulary import VocabularyFile
from dancematch.server.problems import Redaction, RefusedError
from dancematch.server.queries.held_searches import HeldSearch, HeldSearches
from dancematch.server.queries.search_service import require_explainable
from dancematch.server.schemas.searches import SearchResponse
from dancematch.server.service import Service
from server_samples import run_async

SECRETS = "a secret that is long enough".replace(" ", "-"), "another-that-is-long-enough"


def test_tokens_are_read_with_their_scopes(tmp_path):
    """A read token reads, a write token does both, a wrong or missing one nothing."""
    (tmp_path / "tokens").write_text(f"# ours\n\nread {SECRETS[0]}\nwrite\t{SECRETS[1]}\n")
    tokens = read_tokens(tmp_path / "tokens")

    assert ({"read"}, ALL_SCOPES) == tuple(tokens.scopes_of(secret) for secret in SECRETS)
    assert {NO_SCOPES} == {tokens.scopes_of(wrong) for wrong in ("", None, SECRETS[0][:-1], "é" * 20)}
    assert ALL_SCOPES == Tokens().scopes_of(None)


@pytest.mark.parametrize(
    "content", ["", "# nothing", "read short", "admin 1234567890123456", "1234567890123456"]
)
def test_tokens_that_protect_nothing_are_refused(tmp_path, content):
    (tmp_path / "tokens").write_text(content)

    with pytest.raises(InputError, match="SECRET"):
        read_tokens(tmp_path / "tokens")


def test_a_secret_that_is_there_twice_is_refused(tmp_path):
    """Whether it is meant to read or to write cannot be known."""
    (tmp_path / "tokens").write_text(f"read {SECRETS[0]}\nwrite {SECRETS[1]}\nwrite {SECRETS[0]}\n")

    with pytest.raises(InputError, match="line 3: this secret is in an earlier line too") as caught:
        read_tokens(tmp_path / "tokens")
    assert SECRETS[0] not in str(caught.value)


@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o400, False), (0o640, True), (0o604, True)])
def test_tokens_that_others_may_read_are_warned_of(tmp_path, mode, warned):
    """In one line, before the service begins; here it cannot, for want of a catalogue."""
    tokens = tmp_path / "tokens"
    tokens.write_text(f"write {SECRETS[0]}\n")
    tokens.chmod(mode)
    *warning, _ = run_main("serve", tmp_path, "--token-file", tokens).err.splitlines()
    expected = f"warning: other users of this machine may read or change {tokens}; chmod 600 {tokens}"

    assert ([expected] if warned else []) == warning


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("localhost", True),
        ("0.0.0.0", False), ("::", False), ("192.168.1.4", False), ("example.org", False),  # noqa: S104
    ],
)  # fmt: skip
def test_an_address_that_others_reach_needs_tokens(host, expected):
    assert expected == is_loopback(host)
    if not expected:
        with pytest.raises(InputError, match="--token-file"):
            Options("dances.db", host=host)


async def receive_whole(content: bytes, folder: Path, options: Options) -> Upload:
    async def pieces():
        yield content

    return await receive(pieces(), folder, options, declared=None, on_large=lambda: None)


def test_an_upload_is_written_as_it_comes_and_named_by_the_service(tmp_path):
    """Nothing in it is read here: neither its name nor its content says what it is."""
    upload = run_async(receive_whole, b"PK\x03\x04 no archive", tmp_path, Options("dances.db"))

    assert [upload.path] == list(tmp_path.iterdir())
    assert (b"PK\x03\x04 no archive", 15) == (upload.path.read_bytes(), upload.size)
    assert hashlib.sha256(b"PK\x03\x04 no archive").hexdigest() == upload.digest


async def receive_slowly(folder: Path, sizes: list[int]) -> Upload:
    async def pieces():
        for size in sizes:
            await anyio.sleep(0.05)
            yield bytes(size)
        await anyio.sleep(60)

    return await receive(pieces(), folder, Options("dances.db"), declared=None, on_large=lambda: None)


@pytest.mark.parametrize("sizes", [[1] * 100, [1 << 20, *[1] * 100], [1 << 20] * 3])
def test_an_upload_that_stalls_is_refused_whatever_came_before(tmp_path, monkeypatch, sizes):
    """Bytes that drip, a fast beginning and then drops, and silence are all too slow; nothing stays."""
    monkeypatch.setattr(limits, "UPLOAD_PACE_SECONDS", 0.5)
    with pytest.raises(RefusedError, match="came too slowly") as caught:
        run_async(receive_slowly, tmp_path, sizes)

    assert (408, []) == (caught.value.answer.status, list(tmp_path.iterdir()))


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (b"\x00\x00\x00 ftypisom", "video/mp4"),
        (b"\x1aE\xdf\xa3\x01", "video/webm"),
        (b"RIFF\x00\x00\x00\x00AVI LIST", "video/x-msvideo"),
        (b"GIF89a", "image/gif"),
        (b"G", "application/octet-stream"),
    ],
)
def test_the_media_type_of_a_video_comes_from_its_first_bytes(tmp_path, content, media_type):
    (tmp_path / "upload").write_bytes(content)

    assert media_type == media_type_of(tmp_path / "upload")


def test_errors_reveal_no_path():
    """Neither the catalogue's path nor an upload's; the rest of the sentence stays."""
    redaction = Redaction("/srv/dances.db", "/srv/dances.db.service")
    message = "/srv/dances.db.service/uploads/ab12.video cannot be opened, says /srv/dances.db"
    answer = redaction.answer_for(VideoError(message))

    assert (422, "video") == (answer.status, answer.error)
    assert "the upload cannot be opened, says the catalogue" == answer.message


@pytest.mark.parametrize("reason", ["no server answers at db.inside, port 5432", "user 'dancer' may not"])
def test_errors_do_not_reveal_where_the_database_is(reason, caplog):
    """Not by /health, which needs no token, nor by anything else; the log says it."""
    where = "postgresql://dancer:***@db.inside/dances"
    redaction = Redaction(where, "/srv/service")
    answer = redaction.answer_for(CatalogueError(f"the catalogue {where} cannot be used: {reason}"))

    assert (503, "catalogue", 5) == (answer.status, answer.error, answer.retry_after)
    assert "the catalogue cannot be used at the moment; the service's log says why" == answer.message
    assert reason in caplog.text


def error_classes(kind: type = DanceMatchError) -> list[type]:
    return [kind, *(leaf for one in kind.__subclasses__() for leaf in error_classes(one))]


@pytest.mark.parametrize("kind", error_classes()[1:], ids=lambda kind: kind.__name__)
def test_every_error_of_the_library_has_a_name_on_the_wire(kind):
    """Also one that a worker process reports by the name of its class."""
    answer = Redaction("x.db", "x.db.service").answer_for(error_named(kind.__name__, "a sentence"))

    assert answer.status in (404, 409, 412, 422, 503)
    assert {"error": answer.error, "message": "a sentence"} == answer.body()


def test_metrics_add_up():
    """Each bucket counts all answers up to its bound, the last one all; a quote in a label is escaped."""
    metrics, state = Metrics(), ServiceState(True, 3, {"waiting": 2, "done": 0}, 1)
    for seconds in (0.001, 0.03, 0.03, 100.0):
        metrics.count_request("GET", '/a"b', 200, seconds)
    metrics.count_upload(5)
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(metrics.text(state).decode())
        for sample in family.samples
    }
    buckets = [value for (name, *_), value in samples.items() if name.endswith("_bucket")]

    assert [1, 1, 1] + [3] * (len(SECONDS) - 3) + [4] == buckets
    assert 4 == samples["dancematch_requests_total", "GET", '/a"b', "200"]
    assert 100.061 == pytest.approx(samples["dancematch_request_seconds_sum", '/a"b'])
    assert (5, 1, 3, 1) == tuple(
        samples[f"dancematch_{name}",] for name in ("upload_bytes_total", "ready", "dances", "searches_held")
    )
    assert (2, 0) == tuple(samples["dancematch_jobs", state] for state in ("waiting", "done"))


def held_search(seed: int = 0) -> HeldSearch:
    response = SearchResponse.of(
        Answer(()), search_id=None, filename=None, created="", max_evalue=0.01, searched=0,
        elapsed_seconds=0.0, picture=False,
    )  # fmt: skip
    answer = Answer((), query_of_motions([dance(seed)], shipped(), "it"))
    return HeldSearch(response, answer, QueryFile("it", "", "motion file"))


def test_only_so_many_searches_are_held(monkeypatch):
    """The oldest goes first, by number as by size; one that is gone is unknown."""
    monkeypatch.setattr(limits, "MAX_HELD_SEARCHES", 2)
    held = HeldSearches()
    for name in "abc":
        held.add(name, held_search())
    with pytest.raises(RefusedError, match="no such search"):
        held.find("a")
    monkeypatch.setattr(limits, "MAX_HELD_BYTES", held_search().nbytes)
    held.add("d", held_search())

    assert 1 == len(held)
    held.remove("d")
    assert 0 == len(held)


def test_a_search_is_held_for_a_while_only(monkeypatch):
    held = HeldSearches()
    held.add("a", held_search())
    monkeypatch.setattr(limits, "HELD_SECONDS", -1.0)

    with pytest.raises(RefusedError):
        held.find("a")


def test_positions_are_the_principal_components():
    """As a full decomposition gives them, up to the sign: all differences that two directions can show."""
    fingerprints = [shipped().fingerprint(dance(seed)) for seed in range(8)]
    found = fit_projection(fingerprints)
    everywhere = replace(found, directions=np.eye(len(found.mean)))
    points = everywhere.place(fingerprints)
    left, lengths, _ = np.linalg.svd(points, full_matrices=False)
    expected = left[:, :2] * lengths[:2]
    expected *= np.sign(expected[np.abs(expected).argmax(axis=0), [0, 1]])

    np.testing.assert_allclose(expected / np.abs(expected).max(), found.place(fingerprints), atol=1e-3)
    np.testing.assert_allclose((lengths**2 / (lengths**2).sum())[:2], found.explained, atol=1e-4)


def test_two_dances_lie_at_the_ends_and_one_has_no_map():
    found = fit_projection([random_words(20, seed) for seed in range(2)])

    assert 1.0 == pytest.approx(np.abs(found.place([random_words(20, 0)])).max(), abs=1e-6)
    assert fit_projection([random_words(20, 0)]) is None


def test_a_query_lies_where_its_dance_does(tmp_path):
    """The very motion of a known dance lies on its point; without a query, none is told."""
    with open_catalogue(tmp_path / "dances.db") as known:
        for seed in range(3):
            known.add(write_dance(tmp_path / f"dance-{seed}.npz", seed))
        query = query_of_motions([dance(1)], known.tokeniser, "clip")
        drawn = DanceMap(known)
        found = drawn.draw(10, query)
        own = next(one for one in found.dances if one.name == "dance-1")

        assert (own.x, own.y) == pytest.approx((found.query[0].x, found.query[0].y), abs=0.02)
        assert [] == drawn.draw(10).query


def test_every_word_has_a_figure(tmp_path):
    """All words of all channels, and as many coordinates as the channel has joints; the file is kept."""
    model = save_small_model(tmp_path / "model")
    with open_catalogue(tmp_path / "dances.db", model=tmp_path / "model") as known:
        vocabulary = json.loads(VocabularyFile(known, tmp_path).read())

    assert list(model.codebook.channels) == [channel["name"] for channel in vocabulary["channels"]]
    for channel in vocabulary["channels"]:
        assert model.vocabulary == len(channel["words"])
        assert {3 * len(channel["joints"])} == {
            len(frame) for word in channel["words"] for frame in word["frames"]
        }
    assert [f"words-{model.model_id}.json"] == [path.name for path in tmp_path.glob("words-*")]


NAMES = st.sets(st.text("abAB/éÜ舞%_", min_size=1, max_size=4), max_size=8)


@settings(max_examples=30, deadline=None)
@given(names=NAMES, limit=st.integers(1, 5))
def test_pages_together_are_everything_in_order(tmp_path_factory, names, limit):
    """Whatever the names and the size of a page: each dance once, sorted as Python sorts."""
    store = Store(tmp_path_factory.mktemp("pages") / "dances.db", "toy")
    store.add_many(
        [(recorded(name, name, digest(name), 1.0), [StoredTrack(random_words(4, 0))]) for name in names]
    )
    found: list[str] = []
    while page := read_page(store, after=found[-1] if found else None, limit=limit).dances:
        found += [one.name for one in page]
    named = read_names(store)
    chosen = [named[one] for one in sample_dance_ids(store, limit)]
    store.close()

    assert sorted(names) == found
    assert (min(limit, len(names)), sorted(chosen)) == (len(set(chosen)), chosen)
    with pytest.raises(UnknownDanceError):
        read_dance(store, "unknown")


def test_a_file_may_only_be_so_long_and_so_crowded():
    """A motion above the limits of a video is refused too, and so are words."""
    motion, words = dance(0), random_words(100, 0)
    for found in (Analysis(Path("a"), (motion,)), Analysis(Path("a"), words=(words,))):
        with pytest.raises(InputError, match="above the limit of 5 s"):
            check_lengths(found, 5)
    with pytest.raises(InputError, match="above the limit of 32"):
        check_lengths(Analysis(Path("a"), (motion,) * (MAX_DANCERS + 1)), 60)


def test_two_services_share_no_folder(tmp_path):
    with open_catalogue(tmp_path / "dances.db") as known:
        service = Service(Options(str(tmp_path / "dances.db")), known)
        with pytest.raises(InputError, match="another service is at work"):
            Service(Options(str(tmp_path / "dances.db")), known)
        service.close()


def test_what_would_take_minutes_to_explain_is_refused():
    """Three minutes beside three minutes are fine, ten beside ten are not."""
    three, ten = (random_words(round(60 * minutes / 0.1333), 0) for minutes in (3, 10))
    require_explainable(three, [three])

    with pytest.raises(RefusedError, match="search for a part"):
        require_explainable(ten, [ten])


def test_without_its_libraries_the_service_says_what_to_install():
    code = "import sys; sys.modules['fastapi'] = None; from dancematch.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "serve", "dances.db"], capture_output=True, text=True, check=False
    )

    assert 1 == done.returncode
    assert ["dancematch: fastapi is not installed; the service needs: pip install 'dancematch[serve]'"] == (
        done.stderr.splitlines()
    )


def test_a_folder_of_the_service_holds_no_clips(tmp_path):
    """Adding the folder that a catalogue lies in does not add what was uploaded."""
    write_dance(tmp_path / "dances.db.service" / "uploads" / "a.npz", 1)
    kept = write_dance(tmp_path / "kept.npz", 2)

    assert [Path(kept)] == find_clips([tmp_path])


def test_a_lineage_that_takes_minutes_is_refused_before_the_work():
    """An hour of one dancer is more than 200 windows."""
    hour = Recording(digest("hour"), "hour.mp4", 3600.0, dancers=1)
    catalogue = SimpleNamespace(dance=lambda name: Dance(name, dance_id="d1"), recordings=lambda _: [hour])

    with pytest.raises(RefusedError, match="dancematch lineage") as refused:
        DanceService(catalogue, None).lineage("long")
    assert 422 == refused.value.answer.status
