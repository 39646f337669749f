"""The OpenAPI schema and every example in docs/service.md hold."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from dance_samples import write_dance
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.synthetic.demo import Scene
from server_samples import serving

PAGE = Path(__file__).parents[2] / "docs" / "service.md"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with something to look at, a search, and a job that is over."""
    folder = tmp_path_factory.mktemp("described")
    with open_catalogue(folder / "dances.db") as known:
        for seed in range(3):
            known.add(write_dance(folder / f"dance-{seed}.npz", seed))
    with serving(folder / "dances.db", "--max-seconds", 30) as running:
        yield running


@pytest.fixture(scope="module")
def schema(server):
    server.client.get("/words")  # takes its time when it is asked for first
    return schemathesis.openapi.from_url(f"{server.url}/openapi.json")


def test_whatever_is_asked_the_answer_is_as_described(schema):
    """Any parameters and body: an answer of a kind that the schema tells of, never a failure of ours."""
    operations = [result.ok() for result in schema.get_all_operations()]
    for operation in operations:
        asking = given(case=operation.as_strategy())(_asked)
        settings(max_examples=3, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))(
            asking
        )()

    assert len(operations) > 20


def _asked(case: schemathesis.Case) -> None:
    case.call_and_validate(checks=CHECKS)


@pytest.mark.parametrize(
    "place",
    [
        "/about", "/labels", "/map", "/jobs", "/words", "/dances", "/dances/{dance}",
        "/dances/{dance}/lineage", "/recordings/{recording_id}/counts",
        "/recordings/{recording_id}", "/recordings/{recording_id}/motion", "/recordings/{recording_id}/words",
        "/searches/{search_id}", "/searches/{search_id}/motion", "/searches/{search_id}/words",
        "/searches/{search_id}/matches/{dance_id}", "/searches/{search_id}/matches/{dance_id}/differences",
        "/searches/{search_id}/matches/{dance_id}/report",
    ],
)  # fmt: skip
def test_answers_that_are_found_are_as_described(server, schema, query, place):
    """What random asking hardly finds: each answer of substance against its schema."""
    known = server.client.get("/dances/dance-1").json()
    ids = {"dance_id": known["dance_id"], "recording_id": known["recordings"][0]["recording_id"]}
    answer = server.client.get(place.format(dance="dance-1", search_id=query, **ids))

    assert 200 == answer.status_code
    schema[place]["GET"].validate_response(answer)


@pytest.fixture(scope="module")
def query(server, tmp_path_factory):
    clip = write_dance(tmp_path_factory.mktemp("query") / "query.npz", 1, dancer=4)
    return server.client.post("/search", content=clip.read_bytes()).json()["search_id"]


def test_every_endpoint_is_in_the_document(schema):
    """And the document names none that is not there."""
    text = PAGE.read_text(encoding="utf-8")
    table = text.partition("## Endpoints")[2].partition("### ")[0]
    named = set()
    for row in table.splitlines():
        first, *sisters = re.findall(r"(?<=[ `])/[\w{}/.]+", row.partition("|")[2].partition("|")[0]) or [""]
        in_full = [first.rpartition("/")[0] + sister for sister in sisters if sister.count("/") == 1]
        named |= {first, *in_full, *(place for place in sisters if place.count("/") > 1)} - {""}

    assert {*schema.raw_schema["paths"], "/openapi.json"} == named


def examples(language: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The files that the document's examples speak of."""
    folder = tmp_path_factory.mktemp("examples")
    write_dance(folder / "thriller.npz", 11)
    write_dance(folder / "waltz.npz", 12)
    write_dance(folder / "phone.npz", 11, dancer=3)
    Scene("phone", dance=12, dancer=21, seconds=(0.5, 3.5)).render_to(folder)
    return folder


def test_every_curl_example_of_the_document_works(server, files):
    """Run as they stand, one after the other, but for the port: none fails, none answers with an error."""
    script = "set -euo pipefail\n" + "\n".join(examples("sh"))
    done = subprocess.run(
        ["bash", "-c", script.replace("http://127.0.0.1:8765", server.url)],
        cwd=files, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (0, "") == (done.returncode, done.stderr)
    assert '"status":"ready"' in done.stdout
    assert '"dance":"thriller"' in done.stdout.partition('"candidates"')[2]
    assert "event: progress" in done.stdout
    assert "event: done" in done.stdout
    assert '"error":"' not in done.stdout


def test_every_python_example_of_the_document_works(server, files):
    (script,) = examples("python")
    done = subprocess.run(
        [sys.executable, "-c", script.replace("http://127.0.0.1:8765", server.url)],
        cwd=files, capture_output=True, text=True, check=False, env=os.environ,
    )  # fmt: skip

    assert (0, "") == (done.returncode, done.stderr)
    assert "201" == done.stdout.split()[0]
