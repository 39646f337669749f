"""Reviews over HTTP: a search keeps possible matches, people decide, tables go out."""

import csv

import pytest

from dance_samples import write_dance
from dancematch.catalogue.review_records import Recalibration
from dancematch.catalogue.reviews import ReviewStore
from dancematch.pipeline.catalogue import open_catalogue
from server_samples import serving

READ, WRITE = "a-secret-for-reading", "a-secret-for-writing"
CAUTIOUS = {"max_evalue": 0, "review": True, "filename": "phone.npz"}  # what would be a match is possible


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reviews")
    with open_catalogue(folder / "dances.db") as known:
        for seed in range(3):
            known.add(write_dance(folder / f"dance-{seed}.npz", seed))
    for seed in range(3):
        write_dance(folder / f"clip-{seed}.npz", seed, dancer=9)
    (folder / "tokens").write_text(f"read {READ}\nwrite {WRITE}\n")
    return folder


@pytest.fixture(scope="module")
def client(folder):
    with serving(
        folder / "dances.db", "--token-file", folder / "tokens", headers={"Authorization": f"Bearer {WRITE}"}
    ) as running:
        yield running.client


@pytest.fixture
def review(client, folder):
    """A possible match that waits."""
    client.post("/search", content=(folder / "clip-1.npz").read_bytes(), params=CAUTIOUS)
    (found,) = client.get("/reviews", params={"dance": "dance-1", "state": "all"}).json()["reviews"]
    client.patch(f"/reviews/{found['review_id']}", json={"decision": None})
    return client.get("/reviews", params={"dance": "dance-1"}).json()["reviews"][0]


def test_a_search_keeps_possible_matches_only_if_it_is_asked_to(client, folder):
    content = (folder / "clip-2.npz").read_bytes()
    client.post("/search", content=content, params=CAUTIOUS | {"review": False})
    assert [] == client.get("/reviews", params={"dance": "dance-2"}).json()["reviews"]

    found = client.post("/search", content=content, params=CAUTIOUS).json()
    (one,) = client.get("/reviews", params={"dance": "dance-2"}).json()["reviews"]

    best = found["dancers"][0]["candidates"][0]
    same = (
        "dance",
        "dance_id",
        "recording",
        "recording_id",
        "verdict",
        "dancer",
        "query",
        "reference",
        "mirrored",
    )
    assert {name: best[name] for name in same} == {name: one[name] for name in same}
    assert ("phone.npz", None, None) == (one["query_file"], one["decision"], one["decided_by"])


def test_a_decision_is_kept_and_taken_back(client, review):
    place = f"/reviews/{review['review_id']}"
    waiting = client.get("/reviews").json()["waiting"]

    told = client.patch(place, json={"decision": "changed", "decided_by": "Anna", "note": "arms"}).json()

    assert ("changed", "Anna", "arms") == (told["decision"], told["decided_by"], told["note"])
    assert told["decided"]
    assert waiting - 1 == client.get("/reviews").json()["waiting"]
    assert told in client.get("/reviews", params={"state": "decided"}).json()["reviews"]
    assert review == client.patch(place, json={"decision": None}).json()


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({"decision": "perhaps", "decided_by": "Anna"}, 422, "input"),
        ({"decision": "confirmed"}, 422, "input"),
        ({"decision": "confirmed", "decided_by": "An\x1bna"}, 422, "input"),
        ({"decision": "confirmed", "decided_by": "A", "note": "x" * 1001}, 422, "input"),
        ({"decided_by": "Anna"}, 422, "input"),
        ({"decision": "confirmed", "decided_by": "A", "verdict": "match"}, 422, "input"),
    ],
)
def test_what_is_no_decision_is_refused(client, review, body, status, error):
    answer = client.patch(f"/reviews/{review['review_id']}", json=body)

    assert (status, error) == (answer.status_code, answer.json()["error"])
    assert [review] == client.get("/reviews", params={"dance": "dance-1"}).json()["reviews"]


def test_an_unknown_review_dance_or_state_is_told_apart(client):
    asked = {"decision": "confirmed", "decided_by": "A"}
    unknown = client.patch("/reviews/r000000000000000", json=asked)
    assert (404, "unknown_review") == (unknown.status_code, unknown.json()["error"])
    assert "the catalogue has no review" in unknown.json()["message"]
    assert (404, 422) == tuple(
        client.get("/reviews", params=one).status_code for one in ({"dance": "x"}, {"state": "x"})
    )


def test_pages_follow_one_another(client, folder, review):
    client.post("/search", content=(folder / "clip-0.npz").read_bytes(), params=CAUTIOUS)
    every = client.get("/reviews", params={"state": "all"}).json()
    asked, pages = {"state": "all", "limit": 1}, []
    while not pages or pages[-1]["next"]:
        after = {"after": pages[-1]["next"]} if pages else {}
        pages.append(client.get("/reviews", params=asked | after).json())

    assert review in every["reviews"]
    assert every["reviews"] == [one for page in pages for one in page["reviews"]]
    assert len(every["reviews"]) == len(pages) >= 2


def test_the_table_has_what_was_decided(client, review):
    client.patch(f"/reviews/{review['review_id']}", json={"decision": "rejected", "decided_by": "=Anna"})

    answer = client.get("/reviews.csv", params={"state": "decided"})

    assert answer.headers["content-type"].startswith("text/csv")
    (row,) = csv.DictReader(answer.text.splitlines())
    assert (review["review_id"], "rejected", "'=Anna") == (
        row["review_id"], row["decision"], row["decided_by"],
    )  # fmt: skip


def test_who_may_only_read_can_list_and_change_nothing(client, folder, review):
    reading = {"Authorization": f"Bearer {READ}"}

    assert 200 == client.get("/reviews", headers=reading).status_code
    asked = {"decision": "confirmed", "decided_by": "A"}
    refused = [
        client.patch(f"/reviews/{review['review_id']}", json=asked, headers=reading),
        client.post(
            "/search", content=(folder / "clip-1.npz").read_bytes(), params=CAUTIOUS, headers=reading
        ),
    ]
    assert [403, 403] == [one.status_code for one in refused]


def test_an_answer_says_that_verdicts_are_shifted(client, folder):
    content = (folder / "clip-0.npz").read_bytes()
    plain = client.post("/search", content=content).json()
    with open_catalogue(folder / "dances.db") as known:
        reviews = ReviewStore(known._store)
        reviews.recalibrate(Recalibration(-0.4, 23, "2026-11-17T12:00:00+00:00", "Anna"))
        shifted = client.post("/search", content=content).json()
        reviews.recalibrate(None)

    assert (None, None) == (plain["recalibrated"], plain["recalibration_sentence"])
    assert (-0.4, 23) == (shifted["recalibrated"]["offset"], shifted["recalibrated"]["reviews"])
    expected = "Verdicts are shifted by -0.4 decades, fitted on 23 of your reviews."
    assert expected == shifted["recalibration_sentence"]
    before, after = (one["dancers"][0]["candidates"][0]["log_ratio"] for one in (plain, shifted))
    assert -0.4 == pytest.approx(after - before, abs=1e-5)
