"""The service over HTTP: a real `dancematch serve` process, asked as a client asks it."""

import hashlib
import json
import re
import sqlite3
import subprocess
from dataclasses import replace
from urllib.parse import quote

import httpx
import numpy as np
import pytest

from dance_samples import dance, shipped, standing, write_dance
from dancematch import formats
from dancematch.formats import fingerprint as words_files
from dancematch.motion import mirror
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.search.confidence.verdict import MAX_EVALUE
from dancematch.types import Motion
from server_samples import DANCEMATCH, serving

KNOWN = 6
READ, WRITE = "a-secret-for-reading", "a-secret-for-writing"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A catalogue of some dances, and files to send."""
    folder = tmp_path_factory.mktemp("service")
    with open_catalogue(folder / "dances.db") as known:
        for seed in range(KNOWN):
            collection = "even" if seed % 2 == 0 else None
            known.add(
                write_dance(folder / f"dance-{seed}.npz", seed),
                labels=[f"song {seed % 3}"],
                collection=collection,
            )
    write_dance(folder / "query.npz", 2, dancer=9)
    formats.write(folder / "mirrored.npz", [mirror(dance(4, 9))])
    words_files.write(folder / "words.npz", [shipped().fingerprint(dance(3))])
    return folder


@pytest.fixture(scope="module")
def server(folder):
    with serving(folder / "dances.db", "--max-upload", 4, "--sync-mb", 1) as running:
        yield running


@pytest.fixture(scope="module")
def client(server):
    return server.client


@pytest.fixture(scope="module")
def found(client, folder):
    """The answer to a search for dance 2, danced by another."""
    answer = client.post("/search", content=(folder / "query.npz").read_bytes())
    assert 200 == answer.status_code
    return answer.json()


def error_of(answer: httpx.Response) -> tuple[int, str]:
    """The status and name of an error, which has a sentence too and nothing else."""
    shown = answer.json()
    assert {"error", "message"} == set(shown)
    assert shown["message"]
    return answer.status_code, shown["error"]


def test_dances_come_page_by_page(client):
    """Each once, in order of name, and the pages end."""
    names, after, pages = [], None, 0
    while pages == 0 or after:
        page = client.get("/dances", params={"limit": 4} | ({"after": after} if after else {})).json()
        names += [one["name"] for one in page["dances"]]
        after, pages = page["next"], pages + 1
        assert KNOWN == page["total"]

    assert ([f"dance-{seed}" for seed in range(KNOWN)], 2) == (names, pages)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"label": "song 1"}, ["dance-1", "dance-4"]),
        ({"collection": "even"}, ["dance-0", "dance-2", "dance-4"]),
        ({"collection": "even", "text": "SONG 2"}, ["dance-2"]),
        ({"text": "ce-5"}, ["dance-5"]),
        ({"text": "%"}, []),
        ({"label": "nothing"}, []),
    ],
)
def test_dances_are_chosen_by_label_collection_and_text(client, asked, expected):
    """Exactly by label and collection, anywhere and in any case by text; signs of SQL mean themselves."""
    page = client.get("/dances", params=asked).json()

    assert (expected, len(expected)) == ([one["name"] for one in page["dances"]], page["total"])


def test_labels_are_counted(client):
    assert {"labels": {f"song {n}": 2 for n in range(3)}, "collections": {"": 3, "even": 3}} == client.get(
        "/labels"
    ).json()


def best(answer: dict, dancer: int = 1) -> dict:
    """The likeliest dance of one dancer."""
    return answer["dancers"][dancer - 1]["candidates"][0]


def matched(answer: dict, name: str, rest: str = "") -> str:
    """Where a search tells about its match with the dance of that name."""
    candidates = [one for dancer in answer["dancers"] for one in dancer["candidates"]]
    dance_id = next(one["dance_id"] for one in candidates if one["dance"] == name)
    return f"/searches/{answer['search_id']}/matches/{dance_id}{rest}"


def test_a_clip_is_found_at_once_with_a_verdict(client, found):
    """In words and as a number, bounded by what the data support; asked for again, it is the same."""
    first, (dancer,) = best(found), found["dancers"]

    assert ("dance-2", KNOWN, [], False) == (
        first["dance"], found["searched"], found["ignored"], found["picture"],
    )  # fmt: skip
    assert {"match"} == {found["verdict"], dancer["verdict"], first["verdict"]}
    assert dancer["sentence"].startswith("Match: dance-2, 0:00-")
    assert first["likelihood_ratio"] >= KNOWN / MAX_EVALUE
    assert "no match" == dancer["candidates"][-1]["verdict"]
    assert found == client.get(f"/searches/{found['search_id']}").json()


def test_a_verdict_shows_what_it_is_made_of(client, found, folder):
    """Words, and synchrony where there are skeletons; where there are none, the reason."""
    with open_catalogue(folder / "dances.db") as known:
        (track,) = known.tracks(["dance-2"])
    words_files.write(folder / "bare.npz", [replace(track.fingerprint, bones=None)])
    whole = best(found)
    answer = client.post("/search", content=(folder / "bare.npz").read_bytes()).json()
    bare, sentence = best(answer), answer["dancers"][0]["sentence"]

    assert whole["parts"]["synchrony"] > 0.5
    assert abs(whole["parts"]["synchrony_lag"]) < 0.2
    assert (None, "the clip has no skeletons") == (whole["synchrony_reason"], bare["synchrony_reason"])
    assert sentence.endswith("Judged by words alone: the clip has no skeletons.")
    assert {"histogram", "order"} <= set(bare["parts"])


def test_every_dancer_has_a_verdict(client, folder):
    """Two side by side who dance two known dances: both are found, each can be asked about."""
    formats.write(folder / "two.npz", [dance(1, 5), dance(4, 6)])
    answer = client.post("/search", content=(folder / "two.npz").read_bytes()).json()
    place = matched(answer, "dance-1")
    shown = [client.get(place, params={"dancer": number}).json() for number in (1, 2)]

    assert ["match", "match"] == [one["verdict"] for one in answer["dancers"]]
    assert ["dance-1", "dance-4"] == [best(answer, number)["dance"] for number in (1, 2)]
    assert [1, 2] == [one["match"]["dancer"] for one in shown]
    assert shown[0] == client.get(place).json()
    assert (404, "unknown_dance") == error_of(client.get(place, params={"dancer": 3}))


def test_the_service_answers_as_the_library_does(found, folder):
    """Every field of the library's answer, which `search --json` prints, has the same name and value."""
    with open_catalogue(folder / "dances.db") as known:
        described = json.loads(json.dumps(known.search(folder / "query.npz").described()))

    assert described == restricted(found, described)


def restricted(answer: object, described: object) -> object:
    """What is left of an answer without the fields that it has beyond `described`."""
    if isinstance(described, dict):
        return {name: restricted(answer[name], value) for name, value in described.items()}
    if isinstance(described, list):
        return [restricted(*pair) for pair in zip(answer, described, strict=True)]
    return answer


def test_words_and_mirrored_clips_are_found_too(client, folder):
    """A file of words finds the dance it was made from; a mirrored clip is reported as one."""
    spoken = client.post("/search", content=(folder / "words.npz").read_bytes()).json()
    turned = client.post("/search", content=(folder / "mirrored.npz").read_bytes()).json()
    motion = client.get(f"/searches/{spoken['search_id']}/motion").json()

    assert ("dance-3", False) == tuple(best(spoken)[name] for name in ("dance", "mirrored"))
    assert ("dance-4", True) == tuple(best(turned)[name] for name in ("dance", "mirrored"))
    assert motion["decoded"]


def test_a_search_may_be_among_some_only_and_say_that_there_is_no_match(client, folder):
    """Without the right dance among them, the nearest are named and called no match."""
    clip = (folder / "query.npz").read_bytes()
    answer = client.post("/search", content=clip, params={"label": "song 0", "keep": "false"}).json()

    (dancer,) = answer["dancers"]

    assert ("no match", "no match", None) == (answer["verdict"], dancer["verdict"], answer["search_id"])
    assert {"dance-0", "dance-3"} == {one["dance"] for one in dancer["candidates"]}
    assert {"no match"} == {one["verdict"] for one in dancer["candidates"]}


def test_motion_comes_in_millimetres_thinned_and_cut(client):
    """What comes back are the joints that were sent, to the millimetre of what is kept."""
    whole = client.get("/recordings/dance-1.npz/motion").json()
    part = client.get("/recordings/dance-1.npz/motion", params={"fps": 10, "start": 2, "end": 4}).json()
    (dancer,), (cut,) = whole["dancers"], part["dancers"]
    sent = dance(1)
    shown = np.array(dancer["frames"]).reshape(-1, 15, 3) * whole["metres_per_unit"]
    apart = shown - shown[:, :1] - (sent.joints - sent.joints[:, :1])

    assert sent.skeleton.joints == tuple(whole["skeleton"]["joints"])
    assert np.abs(apart).max() < 0.003
    assert (10.0, 2.0, 21) == (cut["fps"], cut["start"], len(cut["frames"]))
    assert dancer["frames"][60] == cut["frames"][0]


@pytest.mark.parametrize("when", [{"start": 5, "end": 1}, {"start": 9999}])
def test_a_time_without_a_dancer_has_no_frames(client, when):
    answer = client.get("/recordings/dance-1.npz/motion", params=when)

    assert (200, [[]]) == (answer.status_code, [one["frames"] for one in answer.json()["dancers"]])
    assert "same-origin" == answer.headers["cross-origin-resource-policy"]


def test_words_come_as_they_are_stored(client):
    """One row per step, one word per channel: those that the model makes of the motion."""
    shown = client.get("/recordings/dance-1.npz/words").json()
    (dancer,) = shown["dancers"]

    assert list(shipped().codebook.channels) == shown["channels"]
    assert shipped().fingerprint(dance(1)).words.tolist() == dancer["words"]


def test_a_match_is_explained(client, found):
    """Path, matrix and parts fit together, and the path goes forward in both."""
    why = client.get(matched(found, "dance-2")).json()
    path, matrix = why["path"], why["matrix"]

    assert why["match"] == best(found)
    assert sorted(path["query"]) == path["query"]
    assert sorted(path["reference"]) == path["reference"]
    assert {len(path["query"])} == {len(values) for values in path["agreement"].values()}
    assert (1, max(map(len, matrix["values"]))) == (
        why["match"]["reference_dancer"],
        len(matrix["values"][0]),
    )
    assert abs(1 - sum(one["weight"] for one in why["metrics"].values())) < 1e-6
    assert why["match"]["parts"]["histogram"] == pytest.approx(
        why["metrics"]["histogram"]["overall"], abs=1e-3
    )


def test_differences_follow_the_poses(client, found):
    """Moments of both go forward together, with degrees for each bone."""
    shown = client.get(matched(found, "dance-2", "/differences")).json()
    bones = client.get("/about").json()["bones"]

    timeline, moments = shown["timeline"], len(shown["timeline"]["query"])

    assert (True, set(bones)) == (shown["same"], set(timeline["degrees"]))
    assert sorted(timeline["query"]) == timeline["query"]
    assert {moments} == {len(timeline["reference"]), len(timeline["late"]), len(timeline["degrees"]["head"])}


def test_the_evidence_is_a_page_to_hand_on(client, folder):
    """It names clip, dance and content, needs nothing beside it, runs nothing, and has a file name."""
    content = (folder / "mirrored.npz").read_bytes()
    asked = {"filename": "../my clip é.npz", "max_evalue": 0.02}
    found = client.post("/search", content=content, params=asked).json()
    answer = client.get(matched(found, "dance-4", "/report"))
    page, policy = answer.text, answer.headers["content-security-policy"]

    assert (200, "text/html; charset=utf-8") == (answer.status_code, answer.headers["content-type"])
    for shown in ("my clip é.npz", "dance-4", "mirrored", hashlib.sha256(content).hexdigest()):
        assert shown in page
    assert "dancematch search dances.db" in page
    assert "--max-evalue 0.02" in page
    assert str(folder) not in page
    assert [] == re.findall(r"(?:src|href)=[\"'](?!data:|#)|<script|@import", page)
    assert ("default-src 'none'; style-src 'unsafe-inline'; img-src data:", False) == (
        policy.partition("; base-uri")[0], "script" in policy,
    )  # fmt: skip
    assert (
        "inline; filename=\"report.html\"; filename*=UTF-8''.._my%20clip%20%C3%A9.npz%20beside%20dance-4.html"
        == (answer.headers["content-disposition"])
    )


def test_a_report_takes_the_very_clip_or_none(client, folder, found):
    """Of a motion file there are no pictures, but it is welcome; another file is not."""
    place = matched(found, "dance-2", "/report")
    own, other = ((folder / name).read_bytes() for name in ("query.npz", "mirrored.npz"))

    assert 200 == client.post(place, content=own).status_code
    assert (422, "input") == error_of(client.post(place, content=other))
    assert [] == list((folder / "dances.db.service" / "uploads").iterdir())


def test_a_query_can_be_looked_at_and_forgotten(client, folder):
    """Its skeletons and words are there until they are forgotten, and then nothing of it is."""
    search_id = client.post("/search", content=(folder / "query.npz").read_bytes()).json()["search_id"]
    motion = client.get(f"/searches/{search_id}/motion", params={"fps": 1}).json()
    words = client.get(f"/searches/{search_id}/words").json()

    assert (1, search_id) == (len(motion["dancers"]), words["search_id"])
    assert (404, "not_found") == error_of(client.get(f"/searches/{search_id}/picture"))
    assert (404, "unknown_dance") == error_of(client.get(f"/searches/{search_id}/matches/unknown/report"))
    assert 204 == client.delete(f"/searches/{search_id}").status_code
    for place in ("", "/motion", "/words", "/picture", "/matches/dance-2", "/matches/dance-2/report"):
        assert (404, "unknown_search") == error_of(client.get(f"/searches/{search_id}{place}"))


def test_a_dance_is_learnt_found_and_forgotten(client, folder):
    """Whatever its name: with slashes, signs and letters of any script."""
    name, content = "a/b ?#%é舞", write_dance(folder / "new.npz", 30).read_bytes()
    place = f"/dances/{quote(name, safe='')}"
    said = {"dance": name, "label": "new", "filename": "../../etc/passwd"}
    made = client.post("/recordings", content=content, params=said)
    known = client.get(place).json()

    assert (201, name, "passwd") == (made.status_code, made.json()["dance"], made.json()["file"])
    assert (["new"], [made.json()]) == (known["labels"], known["recordings"])
    assert known == client.get(f"/dances/{known['dance_id']}").json()
    again = client.post("/recordings", content=content, params={"dance": name})
    assert (200, made.json()) == (again.status_code, again.json())
    assert made.json() == client.get(f"/recordings/{hashlib.sha256(content).hexdigest()}").json()
    found = client.post("/search", content=write_dance(folder / "again.npz", 30, dancer=5).read_bytes())
    assert (name, known["dance_id"]) == tuple(best(found.json())[one] for one in ("dance", "dance_id"))
    assert 204 == client.delete(place).status_code
    assert (404, "unknown_dance") == error_of(client.get(place))
    assert KNOWN == client.get("/health").json()["dances"]


def test_a_dance_can_be_learnt_from_words_alone(client, folder):
    """It is found; it has no skeletons or video, and its answer says so. It is named by its file."""
    words_files.write(folder / "other-words.npz", [shipped().fingerprint(dance(31))])
    content = (folder / "other-words.npz").read_bytes()
    made = client.post("/recordings", content=content, params={"filename": "spoken.npz"})

    assert (201, False, False) == (made.status_code, made.json()["motion"], made.json()["video"])
    assert (404, "not_found") == error_of(client.get("/recordings/spoken.npz/motion"))
    listed = {one["name"]: one["motion"] for one in client.get("/dances").json()["dances"]}
    assert {"spoken": False} | {f"dance-{seed}": True for seed in range(KNOWN)} == listed
    assert 1 == len(client.get("/recordings/spoken.npz/words").json()["dancers"])
    assert 204 == client.delete("/recordings/spoken.npz").status_code
    assert (404, "unknown_dance") == error_of(client.get("/dances/spoken"))


def test_a_name_or_content_that_is_taken_is_refused(client, folder):
    """Neither is another dance's name given away nor one content kept twice; the refusal says where it is."""
    known, other = ((folder / f"dance-{n}.npz").read_bytes() for n in (0, 1))
    new = write_dance(folder / "taken.npz", 33).read_bytes()

    def add(content: bytes, **said: object) -> httpx.Response:
        return client.post("/recordings", content=content, params=said)

    assert 200 == add(known, dance="dance-0").status_code
    assert (409, "dance_exists") == error_of(add(other, dance="dance-0"))
    assert (409, "dance_exists") == error_of(add(known, dance="other", join=True))
    assert "'dance-0.npz' of 'dance-0'" in add(known, dance="other").json()["message"]
    assert (409, "dance_exists") == error_of(add(new, dance="dance-0"))
    assert KNOWN == client.get("/dances").json()["total"]


def test_the_map_puts_every_dance_somewhere(client):
    places = client.get("/map").json()

    names = [one["name"] for one in client.get("/dances").json()["dances"]]

    assert [f"dance-{seed}" for seed in range(KNOWN)] == [one["name"] for one in places["dances"]] == names
    assert {("song 1",)} == {tuple(one["labels"]) for one in places["dances"] if one["name"] == "dance-4"}
    assert 1.0 == max(max(abs(one["x"]), abs(one["y"])) for one in places["dances"])
    assert places == client.get("/map").json()
    assert 2 == len(client.get("/map", params={"limit": 2}).json()["dances"])


@pytest.mark.usefixtures("found")
def test_metrics_count_what_was_asked(client):
    """In Prometheus' format: requests by route, not by what was in the address."""
    client.get("/dances/nowhere")
    text = client.get("/metrics").text

    assert 'dancematch_requests_total{method="GET",route="/dances/{dance}",status="404"}' in text
    assert f"dancematch_dances {KNOWN}.0" in text
    assert 'dancematch_searches_total{verdict="match"}' in text
    assert 'dancematch_request_seconds_bucket{le="+Inf",route="/search"}' in text
    assert "_created" not in text


def test_errors_name_no_path_of_the_server(client, folder):
    """Neither where the catalogue lies nor what an upload is called."""
    answers = [
        client.get("/dances/unknown"),
        client.post("/search", content=b'{"a": 1}'),
        client.post("/search", content=(folder / "query.npz").read_bytes()[:500]),
        client.post("/recordings?dance=x", content=b"HIERARCHY\nROOT"),
    ]

    assert [404, 422, 422, 422] == [error_of(answer)[0] for answer in answers]
    assert [] == [answer.text for answer in answers if folder.parts[1] in answer.text]


@pytest.mark.parametrize(
    ("method", "place", "expected"),
    [
        ("GET", "/searches/nonsense", (422, "input")),
        ("GET", "/jobs/" + 32 * "0", (404, "unknown_job")),
        ("GET", "/dances?limit=0", (422, "input")),
        ("GET", "/dances?text=%00", (422, "input")),
        ("POST", "/search", (422, "input")),  # no body
        ("POST", "/search?max_evalue=6", (422, "input")),
        ("POST", "/search?label=nosuch", (422, "input")),
        ("POST", "/search?collection=nosuch", (422, "input")),
        ("POST", "/dances", (405, "method_not_allowed")),
        ("GET", "/nowhere", (404, "not_found")),
        ("PUT", "/dances/new", (405, "method_not_allowed")),
        ("POST", "/recordings?dance=" + 201 * "x", (422, "input")),
        ("POST", "/recordings", (422, "input")),  # of no dance
        ("POST", "/recordings?dance=x&label=a%3Bb", (422, "input")),
        ("POST", "/recordings?dance=x&date=yesterday", (422, "input")),
        ("PATCH", "/dances/unknown", (404, "unknown_dance")),
        ("DELETE", "/dances/unknown", (404, "unknown_dance")),
        ("GET", "/recordings/unknown", (404, "unknown_recording")),
        ("PATCH", "/recordings/unknown", (404, "unknown_recording")),
        ("DELETE", "/recordings/unknown", (404, "unknown_recording")),
        ("GET", "/recordings/unknown/poster", (404, "unknown_recording")),
        ("GET", "/recordings/dance-1.npz/poster", (404, "not_found")),
        ("GET", "/recordings/dance-1.npz/video", (404, "not_found")),
    ],
)
def test_errors_have_one_shape(client, method, place, expected):
    assert expected == error_of(client.request(method, place))


@pytest.mark.parametrize(
    ("method", "place", "sentence"),
    [
        ("GET", "/searches/nonsense", "search_id: an id was expected, 32 characters of 0-9 and a-f"),
        ("GET", "/jobs/ABC", "job_id: an id was expected, 32 characters of 0-9 and a-f"),
        ("GET", "/dances?text=%00", "text: text without control characters was expected"),
        ("POST", "/search", "the file is empty; a video, a motion file or words were expected"),
        ("POST", "/search?max_evalue=6", "max_evalue: Input should be less than or equal to 1"),
        (
            "POST",
            "/search?label=nosuch",
            "no dance in the catalogue has the label 'nosuch'; 'dancematch list'",
        ),
        ("GET", "/recordings/dance-1.npz/motion?dancer=99", "'dance-1.npz' has no dancer 99; there is 1"),
    ],
)
def test_errors_are_sentences_for_people(client, method, place, sentence):
    """In words: no pattern, no name of the protocol's."""
    assert client.request(method, place).json()["message"].startswith(sentence)


def test_a_dancer_who_is_not_there_is_not_found(client, found):
    """Of a dance as of a query; the dancer who is there is shown."""
    for place in ("/recordings/dance-1.npz/motion", f"/searches/{found['search_id']}/motion"):
        assert (404, "not_found") == error_of(client.get(place, params={"dancer": 99}))
        assert [1] == [one["dancer"] for one in client.get(place, params={"dancer": 1}).json()["dancers"]]


def test_a_photograph_is_neither_learnt_nor_recognised(client, tmp_path):
    """The sentence is the one that the command line says."""
    formats.write(tmp_path / "photo.npz", [standing(120)])
    sent = {"content": (tmp_path / "photo.npz").read_bytes(), "params": {"filename": "photo.npz"}}
    answers = [client.post("/recordings", **sent), client.post("/search", **sent)]

    assert 2 * [(422, "no_dancer")] == [error_of(answer) for answer in answers]
    assert [f"no dancer in {what}: 4.0 s, does not move" for what in ("photo.npz", "the file")] == [
        answer.json()["message"] for answer in answers
    ]


@pytest.mark.parametrize(
    "place", ["/", "/style.css", "/health", "/dances?limit=2", "/dances/unknown", "/nowhere", "/searches/x"]
)
def test_head_answers_as_get_without_the_body(client, place):
    shown, whole = client.head(place), client.get(place)
    kept = ("content-type", "content-length", "content-security-policy", "etag")

    assert (whole.status_code, b"") == (shown.status_code, shown.content)
    assert [whole.headers.get(name) for name in kept] == [shown.headers.get(name) for name in kept]


def test_an_upload_may_only_be_so_large(client, folder):
    """Whether the length is declared or found out while it comes in; nothing of it is left."""
    piece = bytes(1 << 20)

    def pieces():
        for _ in range(6):
            yield piece

    assert (413, "too_large") == error_of(client.post("/search", content=piece * 6))
    assert (413, "too_large") == error_of(client.post("/search", content=pieces()))
    assert [] == list((folder / "dances.db.service" / "uploads").iterdir())


def test_pages_of_other_sites_are_kept_out(client, server):
    """A made-up host name is refused, and so is a change that another site's page asks for."""
    host = server.url.removeprefix("http://")

    assert (421, "wrong_host") == error_of(client.get("/dances", headers={"Host": "evil.example"}))
    assert (403, "forbidden") == error_of(
        client.post("/search", content=b"x", headers={"Origin": "https://evil.example"})
    )
    assert (422, "video") != error_of(
        client.post("/search", content=b"{}", headers={"Origin": f"http://{host}"})
    )
    assert "access-control-allow-origin" not in client.get("/dances", headers={"Origin": "null"}).headers


def test_answers_allow_nothing_from_elsewhere(client):
    """A strict policy: scripts and styles of our own only, no frames, no guessing of types."""
    headers = client.get("/dances").headers
    policy = headers["content-security-policy"]

    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert ("nosniff", "no-store") == (headers["x-content-type-options"], headers["cache-control"])


def test_the_page_is_there_and_takes_nothing_from_elsewhere(client):
    """At the root, with files of its own only; outside its folder there is nothing."""
    page = client.get("/")

    assert (200, "text/html") == (page.status_code, page.headers["content-type"].partition(";")[0])
    assert [] == re.findall(r"(?:src|href)=[\"'](?:https?:)?//", page.text)
    for place in ("/app.py", "/../app.py", "/%2e%2e/app.py", "/..%2fapp.py", "/static"):
        assert (404, "not_found") == error_of(client.get(place))


def test_tokens_say_who_may_do_what(folder, tmp_path):
    """On a public address: nothing without a token, reading with a read token, changes with a write token."""
    tokens = tmp_path / "tokens.txt"
    tokens.write_text(f"# ours\nread {READ}\nwrite {WRITE}\n")
    tokens.chmod(0o600)
    clip = (folder / "query.npz").read_bytes()
    reader, writer = ({"Authorization": f"Bearer {secret}"} for secret in (READ, WRITE))
    options = ("--host", "0.0.0.0", "--token-file", tokens, "--cors", "https://ours.example")  # noqa: S104
    with serving(tmp_path / "dances.db", *options) as server:
        client = server.client
        for header in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {READ}"}):
            assert (401, "unauthorised") == error_of(client.get("/dances", headers=header))
        new = "/recordings?dance=x"
        assert (401, "unauthorised") == error_of(client.post(new, content=clip))
        assert (403, "forbidden") == error_of(client.post(new, content=clip, headers=reader))
        made = client.post(new, content=clip, headers=writer)
        assert 201 == made.status_code
        assert 200 == client.post("/search", content=clip, headers=reader).status_code
        recording = f"/recordings/{made.json()['recording_id']}"
        for method, place in (
            ("DELETE", "/dances/x"), ("PATCH", "/dances/x"), ("DELETE", recording), ("PATCH", recording),
            ("POST", "/edits"), ("POST", "/edits/undo"), ("POST", "/index"),
        ):  # fmt: skip
            assert (403, "forbidden") == error_of(client.request(method, place, json={}, headers=reader))
            assert (401, "unauthorised") == error_of(client.request(method, place, json={}))
        events = f"/jobs/{32 * '0'}/events"
        assert (401, "unauthorised") == error_of(client.get(events))
        assert (404, "unknown_job") == error_of(client.get(events, headers=reader))
        assert ["read"] == client.get("/about", headers=reader).json()["scopes"]
        assert ["read", "write"] == client.get("/about", headers=writer).json()["scopes"]
        ours = reader | {"Origin": "https://ours.example"}
        assert (
            "https://ours.example"
            == client.get("/dances", headers=ours).headers["access-control-allow-origin"]
        )


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--host", "0.0.0.0"], "no token to keep them out"),  # noqa: S104
        (["--token-file", "nowhere.txt"], "cannot be read"),
        (["--host", "203.0.113.7", "--port", "1"], "no token"),
        (["--model", "nonsense"], "neither a shipped model"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_line(tmp_path, options, complaint):
    """Before anything listens."""
    line = [*DANCEMATCH, str(tmp_path / "dances.db"), *options]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=tmp_path)

    assert 1 == done.returncode
    assert complaint in done.stderr
    assert 1 == len(done.stderr.splitlines())


def test_a_port_that_is_taken_is_said_in_one_line(server, tmp_path):
    port = server.url.rpartition(":")[2]
    line = [*DANCEMATCH, str(tmp_path / "dances.db"), "--port", port]
    done = subprocess.run(line, capture_output=True, text=True, check=False)

    assert (1, 1) == (done.returncode, len(done.stderr.splitlines()))
    assert f"cannot listen on port {port}" in done.stderr


def test_a_catalogue_that_cannot_be_searched_ends_the_service(tmp_path):
    """With an error in one line, not with a service that is never ready."""
    with open_catalogue(tmp_path / "dances.db") as known:
        known.add(write_dance(tmp_path / "a.npz", 1))
    with sqlite3.connect(tmp_path / "dances.db") as connection:
        connection.execute("UPDATE tracks SET words = x'00'")
    connection.close()
    line = [*DANCEMATCH, str(tmp_path / "dances.db"), "--port", "0"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)

    assert 1 == done.returncode
    assert done.stderr.splitlines()[-1].startswith("dancematch: ")
    assert "damaged" in done.stderr
    assert "Traceback" not in done.stderr


def test_it_is_not_ready_before_it_is(tmp_path):
    """From the first moment there is an answer: 503 with Retry-After until the catalogue is open."""
    answers = []
    with serving(tmp_path / "dances.db", ready=False) as server:
        while not answers or answers[-1].status_code != 200:
            answers.append(server.client.get("/health"))

    assert {(503, "not_ready")} == {error_of(answer) for answer in answers[:-1]}
    assert all(int(answer.headers["retry-after"]) > 0 for answer in answers[:-1])
    assert "ready" == json.loads(answers[-1].text)["status"]


def test_a_long_motion_is_searched_for_in_a_job(server, tmp_path):
    """Four minutes in a small file: others do not wait for its search."""
    motion = dance(1)
    times = round(240 / motion.seconds)
    words = shipped().fingerprint(Motion(np.concatenate([motion.joints] * times), 30.0, motion.skeleton))
    words_files.write(tmp_path / "long.npz", [words])
    answer = server.client.post("/search", content=(tmp_path / "long.npz").read_bytes())

    assert 202 == answer.status_code
    assert "done" == server.finished(answer.json()["job_id"])["state"]
