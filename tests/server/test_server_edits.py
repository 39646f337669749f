"""Corrections over HTTP: dances and recordings changed, merged, moved, undone; two who change at a time."""

import csv
import hashlib
import io
import json
from dataclasses import fields
from itertools import count

import httpx
import pytest

from dance_samples import dance, write_dance
from dancematch import formats
from dancematch.catalogue.editing.requests import EditDance
from dancematch.catalogue.records import Dance, NewRecording, Recording
from dancematch.errors import ChangedMeanwhileError
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.server.dances import DanceService
from dancematch.server.etags import Condition
from dancematch.server.files.videos import VideoFolder
from dancematch.server.recordings import RecordingService
from dancematch.server.schemas.dances import DanceDetail, DanceResponse
from dancematch.server.schemas.edits import DanceChange
from dancematch.server.schemas.recordings import RecordingResponse
from pose_samples import quarters, write_clip
from server_samples import FILM_WORKER, PUPPETS, serving, small_jpeg


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A service of a few dances; each test has its own, by name."""
    folder = tmp_path_factory.mktemp("edits")
    with open_catalogue(folder / "dances.db") as known:
        poster = small_jpeg()
        for seed, name in enumerate(("pictured", "plain")):
            recording = Recording(hashlib.sha256(name.encode()).hexdigest(), f"{name}.npz")
            new = NewRecording(Dance(name), recording, poster if name == "pictured" else None)
            known.learn(new, [dance(90 + seed)])
    with serving(folder / "dances.db") as running:
        running.folder = folder
        yield running


@pytest.fixture
def client(server):
    return server.client


SEEDS = count(100)  # of choreographies, each its own content


@pytest.fixture
def add(server):
    """Adds a recording of a dance that nobody has seen before."""

    def add(dance_name: str, **said: object) -> dict:
        seed = next(SEEDS)
        content = write_dance(server.folder / f"{seed}.npz", seed).read_bytes()
        params = {"dance": dance_name, "filename": f"{dance_name} {seed}.npz"} | said
        answer = server.client.post("/recordings", content=content, params=params)
        assert 201 == answer.status_code, answer.text
        return answer.json()

    return add


def error_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]


def test_a_dance_is_changed_field_by_field(client, add):
    """What is absent stays, what is null is removed; the answer says what changed and what there is now."""
    dance_id = add("Thriler", label=["pop", "80s"], collection="studio", notes="to check")["dance_id"]
    answer = client.patch(
        "/dances/Thriler",
        json={"name": "Thriller", "notes": None, "add_labels": ["class"], "remove_labels": ["80s"]},
    )
    shown = answer.json()["dance"]

    assert 200 == answer.status_code
    assert ("Thriller", dance_id, ["class", "pop"], "studio", None) == tuple(
        shown[one] for one in ("name", "dance_id", "labels", "collection", "notes")
    )
    assert "Thriler is now called Thriller" in answer.json()["changes"]
    assert f'"{shown["etag"]}"' == answer.headers["etag"] == client.get("/dances/Thriller").headers["etag"]
    assert shown == client.get(f"/dances/{dance_id}").json()
    assert [] == client.patch("/dances/Thriller", json={}).json()["changes"]
    assert 200 == client.patch("/dances/Thriller", json={"labels": []}).status_code
    assert [] == client.get("/dances/Thriller").json()["labels"]


def test_a_lost_update_is_refused_and_changes_nothing(client, add):
    """Two look at a dance; the second to change it is told, by PATCH as by DELETE."""
    recording = add("shared")["recording_id"]
    seen = client.get("/dances/shared").headers["etag"]
    first = client.patch("/dances/shared", json={"notes": "mine"}, headers={"If-Match": seen})
    before = client.get("/dances/shared").json()
    late = [
        client.patch("/dances/shared", json={"notes": "yours"}, headers={"If-Match": seen}),
        client.patch(f"/recordings/{recording}", json={"date": "2020"}, headers={"If-Match": seen}),
        client.delete("/dances/shared", headers={"If-Match": seen}),
        client.delete(f"/recordings/{recording}", headers={"If-Match": seen}),
        client.post(
            "/edits",
            json={"edits": [{"dance": "shared", "notes": "yours"}], "expected": {"shared": seen.strip('"')}},
        ),
    ]

    assert 200 == first.status_code
    assert 5 * [(412, "changed_meanwhile")] == [error_of(answer) for answer in late]
    assert before == client.get("/dances/shared").json()
    known = first.headers["etag"]
    some = f'"other", {known}'
    assert 200 == client.patch("/dances/shared", json={"notes": "a"}, headers={"If-Match": some}).status_code
    assert 200 == client.patch("/dances/shared", json={"notes": "b"}, headers={"If-Match": "*"}).status_code
    weak = "W/" + client.get("/dances/shared").headers["etag"]
    assert 412 == client.patch("/dances/shared", json={}, headers={"If-Match": weak}).status_code
    assert 400 == client.patch("/dances/shared", json={}, headers={"If-Match": "bare"}).status_code


def test_an_etag_is_of_what_is_said_of_the_recordings_too(client, add):
    """A recording that is added or described anew makes another ETag; a search does not."""
    recording = add("watched")["recording_id"]
    seen = [client.get("/dances/watched").json()["etag"]]
    client.patch(f"/recordings/{recording}", json={"performer": "Ann"})
    seen.append(client.get("/dances/watched").json()["etag"])
    add("watched", join=True)
    seen.append(client.get("/dances/watched").json()["etag"])
    listed = {one["name"]: one["etag"] for one in client.get("/dances").json()["dances"]}

    assert 3 == len(set(seen))
    assert seen[-1] == client.get("/dances/watched").json()["etag"] == listed["watched"]


@pytest.mark.parametrize(
    ("header", "etags"),
    [
        (None, None),
        ("*", None),
        ('"a"', ("a",)),
        ('"a" , "b,c"', ("a", "b,c")),
        ('W/"a"', ()),
        ('"a", W/"b"', ("a",)),
        ('""', ("",)),
    ],
)
def test_a_condition_is_read_as_the_standard_says(header, etags):
    assert etags == Condition.of(header).etags


def test_a_change_between_the_look_and_the_edit_is_noticed(tmp_path):
    """The ETag is compared once more where the edit is made: nobody else can come in between."""
    with open_catalogue(tmp_path / "dances.db") as known:
        known.add(write_dance(tmp_path / "a.npz", 1))
        recordings = RecordingService(known, VideoFolder(tmp_path), lambda _: None)
        service = DanceService(known, recordings)

        class OvertakenCondition(Condition):
            """Another is quicker as soon as the condition has been looked at."""

            def expected(self, dance: str, etag: str) -> dict[str, str]:
                known.edit([EditDance("a", {"notes": "theirs"})])
                return {dance: etag}

        with pytest.raises(ChangedMeanwhileError, match="changed meanwhile"):
            service.edit("a", DanceChange(notes="mine"), OvertakenCondition())

        assert "theirs" == known.dance("a").notes


def test_answers_have_every_field_of_the_records():
    """By the names that the library and the command line have for them."""
    dance_fields, recording_fields = ({one.name for one in fields(kind)} for kind in (Dance, Recording))

    assert set() == dance_fields - set(DanceResponse.model_fields)
    assert set() == dance_fields - set(DanceDetail.model_fields)
    assert set() == recording_fields - set(RecordingResponse.model_fields)


def test_dances_become_one_and_part_again(client, add):
    """Merged, all recordings are the other's; one is moved back to a dance of its own, which is found."""
    one, other = add("waltz a", label="slow"), add("waltz b", label="fast", notes="the best")
    merged = client.patch("/dances/waltz b", json={"merge_into": "waltz a"})
    whole = merged.json()["dance"]

    assert (one["dance_id"], 2, ["fast", "slow"], "the best") == (
        whole["dance_id"], len(whole["recordings"]), whole["labels"], whole["notes"],
    )  # fmt: skip
    assert f'"{whole["etag"]}"' == merged.headers["etag"]
    assert (404, "unknown_dance") == error_of(client.get("/dances/waltz b"))
    place = f"/recordings/{other['recording_id']}"
    parted = client.patch(place, json={"new_dance": "waltz c", "performer": "Bo"}).json()
    assert ("waltz c", "Bo", ["waltz c"]) == (
        parted["dance"]["name"], parted["recording"]["performer"],
        [one["dance"] for one in parted["dance"]["recordings"]],
    )  # fmt: skip
    back = client.patch(place, json={"dance": "waltz a"}).json()
    assert (one["dance_id"], 2) == (back["dance"]["dance_id"], len(back["dance"]["recordings"]))
    assert (404, "unknown_dance") == error_of(client.get("/dances/waltz c"))


def test_a_segment_is_excluded_and_cleared(client, add):
    """It is clipped to the recording; cleared, all of it may match again."""
    made = add("excluded")
    place = f"/recordings/{made['recording_id']}"
    shown = client.patch(place, json={"exclude": {"start": 1, "end": 9999, "reason": "applause"}}).json()

    (segment,) = shown["recording"]["exclusions"]
    assert (1.0, pytest.approx(made["seconds"]), "applause") == (
        segment["start"], segment["end"], segment["reason"],
    )  # fmt: skip
    assert [] == client.patch(place, json={"clear_exclusions": True}).json()["recording"]["exclusions"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"name": None}, (422, "input")),
        ({"name": "a\nb"}, (422, "input")),
        ({"name": "plain"}, (409, "dance_exists")),
        ({"nmae": "a"}, (422, "input")),
        ({"labels": ["a;b"]}, (422, "input")),
        ({"labels": "pop"}, (422, "input")),
        ({"merge_into": "nowhere"}, (404, "unknown_dance")),
        ({"merge_into": "pictured"}, (422, "input")),
        (["name"], (422, "input")),
    ],
)
def test_what_cannot_be_said_of_a_dance_changes_nothing(client, change, expected):
    before = client.get("/dances/pictured").json()

    assert expected == error_of(client.patch("/dances/pictured", json=change))
    assert before == client.get("/dances/pictured").json()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"url": "ftp://example.org"}, (422, "input")),
        ({"date": "soon"}, (422, "input")),
        ({"dance": "nowhere"}, (404, "unknown_dance")),
        ({"dance": "pictured", "new_dance": "x"}, (422, "input")),
        ({"new_dance": "pictured"}, (409, "dance_exists")),
        ({"exclude": {"start": 2, "end": 1}}, (422, "input")),
        ({"exclude": {"start": 9999, "end": 10000}}, (422, "input")),
    ],
)
def test_what_cannot_be_said_of_a_recording_changes_nothing(client, change, expected):
    before = client.get("/dances/plain").json()

    assert expected == error_of(client.patch("/recordings/plain.npz", json=change))
    assert before == client.get("/dances/plain").json()


@pytest.mark.parametrize("body", [b"{", b"\xff", b'{"name": "\\ud800"}', b"[" * 100_000])
def test_a_body_that_is_no_json_is_refused(client, body):
    assert (422, "input") == error_of(client.patch("/dances/plain", content=body))


def test_bodies_may_only_be_so_large(client):
    """Whether JSON or a table, told or not told before."""
    large = b" " * 11_000_000

    def pieces():
        for _ in range(11):
            yield large[:1_000_000]

    table = {"Content-Type": "text/csv"}
    answers = [
        client.patch("/dances/plain", content=large),
        client.patch("/dances/plain", content=pieces()),
        client.post("/edits", content=large),
        client.post("/edits", content=pieces(), headers=table),
        client.post("/index", content=large, headers=table),
    ]

    assert 5 * [(413, "too_large")] == [error_of(answer) for answer in answers]


def test_many_edits_are_tried_made_and_undone(client, add):
    """A dry run changes nothing, one wrong edit refuses all, undo takes all back and gives it again."""
    first, second = add("many a"), add("many b")
    edits = [
        {"dance": "many a", "add_labels": ["group"], "notes": "first"},
        {"recording": second["recording_id"], "performer": "Cy", "dance": "many a"},
    ]
    before = client.get("/dances").json()
    tried = client.post("/edits", json={"edits": edits, "dry_run": True}).json()
    wrong = client.post("/edits", json={"edits": [*edits, {"dance": "nowhere", "notes": "x"}]})

    assert (True, True) == (tried["dry_run"], len(tried["changes"]) >= 3)
    assert (404, "unknown_dance") == error_of(wrong)
    assert before == client.get("/dances").json()
    made = client.post("/edits", json={"edits": edits}).json()
    assert (tried["changes"], [first["dance_id"]], False) == (
        made["changes"], made["dance_ids"], made["dry_run"],
    )  # fmt: skip
    after = client.get("/dances/many a").json()
    assert (["group"], "first", 2) == (after["labels"], after["notes"], len(after["recordings"]))
    assert client.post("/edits/undo", json={"dry_run": True}).json()["dry_run"]
    assert after == client.get("/dances/many a").json()
    assert 200 == client.post("/edits/undo").status_code
    assert before == client.get("/dances").json()
    assert 200 == client.post("/edits/undo", json={}).status_code
    assert after == client.get("/dances/many a").json()


def test_after_a_removal_there_is_nothing_to_undo(client, add):
    add("undone")
    client.patch("/dances/undone", json={"notes": "x"})
    client.delete("/dances/undone")

    assert (422, "input") == error_of(client.post("/edits/undo"))


def test_a_corrected_table_is_given_back(client, add):
    """As `edit --csv` takes it: what differs is changed, a contradiction refuses all and names its lines."""
    made = add("tabel")
    dance_id = made["dance_id"]

    def send(rows: list[list[str]], **params) -> httpx.Response:
        text = io.StringIO()
        csv.writer(text).writerows(rows)
        return client.post(
            "/edits", content=text.getvalue().encode(), headers={"Content-Type": "text/csv; charset=utf-8"},
            params=params,
        )  # fmt: skip

    header = ["dance_id", "name", "labels", "added"]
    tried = send([header, [dance_id, "table", "a;b", "2020"]], dry_run=True)
    assert (200, "tabel") == (tried.status_code, client.get(f"/dances/{dance_id}").json()["name"])
    assert tried.json()["changes"] == send([header, [dance_id, "table", "a;b", "2020"]]).json()["changes"]
    known = client.get("/dances/table").json()
    assert (dance_id, ["a", "b"]) == (known["dance_id"], known["labels"])
    wrong = send([header, [dance_id, "one", "", ""], [dance_id, "two", "", ""]])
    assert (422, "input") == error_of(wrong)
    assert "lines 2 and 3 contradict each other" in wrong.json()["message"]
    assert known == client.get("/dances/table").json()


def test_an_index_is_read_row_by_row(client):
    """With all that it says of each file; what contradicts itself is refused by its lines."""
    table = {"Content-Type": "text/csv"}
    good = "file,dance,labels,performer,url,date\na.mp4,Thriller,pop; 80s,Ann,https://example.org/a,1983\nb.mp4,,,,,\n"
    rows = client.post("/index", content=good.encode(), headers=table).json()["rows"]

    assert [
        {"file": "a.mp4", "dance": "Thriller", "performer": "Ann", "labels": ["pop", "80s"],
         "url": "https://example.org/a", "date": "1983", "collection": None, "notes": None},
        {"file": "b.mp4", "dance": None, "performer": None, "labels": [], "url": None, "date": None,
         "collection": None, "notes": None},
    ] == rows  # fmt: skip
    wrong = {
        "file,date\na.mp4,1983\na.mp4,1984\n": "lines 2 and 3 contradict each other about the file 'a.mp4'",
        "file,date\na.mp4,soon\n": "line 2: a date is",
        "dance\nThriller\n": "no column file",
        "": "is empty",
    }
    for text, problem in wrong.items():
        answer = client.post("/index", content=text.encode(), headers=table)
        assert (422, "input") == error_of(answer)
        assert problem in answer.json()["message"]
    assert (422, "input") == error_of(client.post("/index", content=b"\xff\xfe", headers=table))


def test_a_poster_is_shown_and_asked_for_again(client):
    """As a JPEG that a browser may keep but asks about each time; the dance says which recording has one."""
    known, plain = (client.get(f"/dances/{name}").json() for name in ("pictured", "plain"))
    place = f"/recordings/{known['poster']}/poster"
    answer = client.get(place)
    again = client.get(place, headers={"If-None-Match": answer.headers["etag"]})

    assert (known["recordings"][0]["recording_id"], None) == (known["poster"], plain["poster"])
    assert [True, False] == [one["recordings"][0]["poster"] for one in (known, plain)]
    assert (200, "image/jpeg", "private, no-cache") == (
        answer.status_code, answer.headers["content-type"], answer.headers["cache-control"],
    )  # fmt: skip
    assert small_jpeg() == answer.content
    assert (304, b"") == (again.status_code, again.content)


def test_a_poster_is_cut_if_the_request_wants_one(tmp_path):
    """Of the one video that was added so, not of the other; the dance shows that of its second recording."""
    films = [
        write_clip(tmp_path / f"film {side}.mp4", image=quarters(side, 240)).read_bytes()
        for side in (320, 352)
    ]
    with serving(tmp_path / "dances.db", f"worker={json.dumps(FILM_WORKER)}", command=PUPPETS) as server:
        jobs = [
            server.client.post(
                "/recordings",
                content=film,
                params={"dance": "film", "filename": f"{wanted}.mp4", "poster": wanted, "join": True},
            )
            for film, wanted in zip(films, (False, True), strict=True)
        ]
        results = [server.finished(job.json()["job_id"])["result"] for job in jobs]
        known = server.client.get("/dances/film").json()
        picture = server.client.get(f"/recordings/{known['poster']}/poster")

    assert [False, True] == [one["poster"] for one in results]
    assert results[1]["recording_id"] == known["poster"]
    assert picture.content.startswith(b"\xff\xd8")


def test_a_report_shows_the_poster_of_the_recording(server, client):
    """The picture is in the page itself."""
    formats.write(server.folder / "query.npz", [dance(90, 3)])
    found = client.post("/search", content=(server.folder / "query.npz").read_bytes()).json()
    first = found["dancers"][0]["candidates"][0]
    page = client.get(f"/searches/{found['search_id']}/matches/{first['dance_id']}/report").text

    assert ("pictured", "pictured.npz") == (first["dance"], first["recording"])
    assert 'class="poster" src="data:image/jpeg;base64,' in page


def test_dances_with_several_labels_are_counted_and_found_by_each(client, add):
    add("labelled", label=["left", "right"])
    add("labelled too", label=["right"])
    counted = client.get("/labels").json()["labels"]

    assert (1, 2) == (counted["left"], counted["right"])
    for label, names in (("left", ["labelled"]), ("right", ["labelled", "labelled too"])):
        page = client.get("/dances", params={"label": label}).json()
        assert names == [one["name"] for one in page["dances"]]


def test_a_recording_joins_a_dance_by_name_or_id_and_is_found_with_it(server, client, add):
    """Both recordings are of one dance, which is listed once; a search names the one that fits."""
    first = add("joined", label="a")
    second = add(first["dance_id"], join=True, label="b")
    known = client.get("/dances/joined").json()
    found = client.post("/search", content=content_of(server, second)).json()
    best = found["dancers"][0]["candidates"][0]

    assert [first["recording_id"], second["recording_id"]] == [
        one["recording_id"] for one in known["recordings"]
    ]
    assert ("joined", ["a", "b"]) == (second["dance"], known["labels"])
    assert (first["dance_id"], second["recording_id"]) == (best["dance_id"], best["recording_id"])
    assert second["recording_id"] in {one["recording_id"] for one in best["recordings"]}
    place = f"/searches/{found['search_id']}/matches/{best['dance_id']}"
    assert second["recording_id"] == client.get(f"{place}/differences").json()["recording_id"]
    assert json.dumps(best["recordings"]) == json.dumps(client.get(place).json()["match"]["recordings"])


def content_of(server, recording: dict) -> bytes:
    """The file that a recording was made of."""
    return (server.folder / recording["file"].rpartition(" ")[2]).read_bytes()
