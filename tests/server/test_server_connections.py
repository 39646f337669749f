"""Connections that are slow, many or wrong, at a real server: each is told why, and others are answered."""

import json
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from dance_samples import write_dance
from dancematch.server.service import READERS
from server_samples import PUPPETS, serving, wait_for

HEADERS = b"Host: localhost\r\nContent-Length: "
ENOUGH = 64 << 20  # more bytes than sockets hold back


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    limits = ("connections_per_address=8", "HEADER_SECONDS=1", "LINGER_SECONDS=1", "UPLOAD_PACE_SECONDS=1")
    streams = ("MAX_STREAMS_PER_ADDRESS=2", "upload_bytes=1000", "QUICK_READ_SECONDS=3600")
    folder = tmp_path_factory.mktemp("connections")
    with serving(folder / "dances.db", *limits, *streams, command=PUPPETS) as running:
        yield running


def connect(server) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=180)


def read_all(raw: socket.socket) -> bytes:
    """Everything until the server closes the connection."""
    parts = []
    while part := raw.recv(65536):
        parts.append(part)
    return b"".join(parts)


def parse(answer: bytes) -> tuple[int, dict, bytes]:
    """Status, JSON body and headers of an answer."""
    headers, _, body = answer.partition(b"\r\n\r\n")
    return int(headers.split()[1]), json.loads(body), headers.lower()


def say(server, request: bytes) -> tuple[int, dict, bytes]:
    with connect(server) as raw:
        raw.sendall(request)
        return parse(read_all(raw))


def uploads_of(server) -> Path:
    return Path(server.process.args[2]).with_suffix(".db.service") / "uploads"


def is_well(server) -> bool:
    return httpx.get(f"{server.url}/health", timeout=180).status_code == 200


def test_headers_that_do_not_come_are_not_waited_for(server):
    """408 in the form of every error, after the time that headers have, however they drip."""
    with connect(server) as silent, connect(server) as dripping:
        dripping.sendall(b"GET /health HTTP/1.1\r\nX-Slow: 1")
        answers = [parse(read_all(raw)) for raw in (silent, dripping)]

    assert [(408, "too_slow")] * 2 == [(status, body["error"]) for status, body, _ in answers]
    assert all(b"connection: close" in headers for *_, headers in answers)


def test_headers_of_a_second_request_have_the_same_time(server):
    """The time does not run while a connection is kept for another request, only from its first byte on."""
    with connect(server) as raw:
        raw.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert raw.recv(65536).startswith(b"HTTP/1.1 200")
        raw.sendall(b"GET /health HTTP/1.1\r\nX-Slow: ")

        assert 408 == parse(read_all(raw))[0]


def test_connections_that_say_nothing_keep_nobody_out(server):
    """Five times as many as one address may have, with unfinished headers: the oldest give way."""
    with ExitStack() as held:
        for _ in range(40):
            raw = held.enter_context(connect(server))
            raw.sendall(b"GET /health HTTP/1.1\r\nX-Slow: ")

        assert [True] * 5 == [is_well(server) for _ in range(5)]
        assert is_well(server)


def test_beyond_the_limit_an_address_at_work_is_refused_in_json(server):
    """All eight connections wait for an answer: the ninth is told so, and is welcome later."""
    request = b"POST /search HTTP/1.1\r\n" + HEADERS + b'11\r\n\r\n["endless"]'
    server.client.get("/health", headers={"Connection": "close"})
    with ExitStack() as held:
        for _ in range(8):
            held.enter_context(connect(server)).sendall(request)
        wait_for(lambda: len(list(uploads_of(server).glob("*.upload"))) == 8)
        status, body, headers = wait_for(lambda: _if_refused(server))

    assert (503, "not_ready") == (status, body["error"])
    assert b"retry-after: 1" in headers
    wait_for(lambda: _answers(server))


def _if_refused(server) -> tuple[int, dict, bytes] | None:
    answer = say(server, b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    return answer if answer[0] == 503 else None


def _answers(server) -> bool:
    return _if_refused(server) is None


@pytest.mark.parametrize(
    ("request_", "status", "error"),
    [
        (b"HELLO THERE\r\n\r\n", 400, "bad_request"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, "bad_request"),  # TLS
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000, 400, "bad_request"),
        (
            b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: " + b"x" * 40_000 + b"\r\n\r\n",
            400,
            "bad_request",
        ),
        (
            b"POST /search HTTP/1.1\r\n" + HEADERS + b"3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
            "bad_request",
        ),
        (b"GET /health HTTP/1.1\r\nHost: [::1]evil.com\r\nConnection: close\r\n\r\n", 421, "wrong_host"),
        (b"GET /health HTTP/1.1\r\nHost: localhost@evil\r\nConnection: close\r\n\r\n", 421, "wrong_host"),
        (b"GET /health HTTP/1.1\r\nHost: localhost:1]\r\nConnection: close\r\n\r\n", 421, "wrong_host"),
    ],
    ids=[
        "no HTTP",
        "TLS",
        "long headers",
        "long but whole headers",
        "smuggling",
        "host after address",
        "user as host",
        "odd port",
    ],
)
def test_a_wrong_request_is_refused_in_the_form_of_every_error(server, request_, status, error):
    answered, body, headers = say(server, request_)

    assert (status, error) == (answered, body["error"])
    assert b"content-type: application/json" in headers
    assert is_well(server)


def test_a_body_of_tiny_chunks_is_refused_before_it_is_parsed(server):
    """Three megabytes, a byte each: 400 after some hundred, and the service answers on."""
    request = b"POST /search HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with connect(server) as raw:
        raw.sendall(request + b"1\r\nx\r\n" * 1000)
        sent = _send_until_closed(raw, b"1\r\nx\r\n" * 10_000)
        answer = parse(read_all_or_reset(raw))

    assert (400, "bad_request") == (answer[0], answer[1]["error"])
    assert sent < ENOUGH
    assert is_well(server)


def test_a_damaged_chunk_ends_the_request_in_one_answer(server):
    """400 once, and nothing in the log: the application is told that the client has left."""
    request = b"POST /search HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
    status, body, _ = say(server, request)

    assert (400, "bad_request") == (status, body["error"])
    assert is_well(server)


@pytest.mark.parametrize("origin", ["http://[", "null", "https://evil.example", ""])
def test_a_page_of_another_site_may_not_even_look(server, origin):
    """Whatever it calls itself; a browser that says so by other means is believed too."""
    answers = [
        server.client.get("/health", headers={"Origin": origin}),
        server.client.get("/map", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}),
    ]

    assert [(403, "forbidden")] * 2 == [(one.status_code, one.json()["error"]) for one in answers]


def test_a_link_from_another_site_may_be_followed(server):
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}

    assert 200 == server.client.get("/", headers=headers).status_code


def test_a_wrong_range_of_a_file_is_an_error_like_every_other(server):
    answer = server.client.get("/app.js", headers={"Range": "bytes=5-2"})

    assert (400, "bad_request") == (answer.status_code, answer.json()["error"])


@pytest.mark.parametrize("host", [b"[::1]:8765", b"[::1]", b"127.0.0.1:1", b"LOCALHOST"])
def test_this_machines_own_names_are_known(server, host):
    assert 200 == say(server, b"GET /health HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n")[0]


@pytest.mark.parametrize("extra", [b"", b"Connection: close\r\n"])
def test_after_a_refusal_nothing_more_of_the_body_is_read(server, extra):
    """413 comes while the body is being sent; the rest fits into no buffer, for nothing takes it out."""
    with connect(server) as raw:
        raw.sendall(b"POST /search HTTP/1.1\r\n" + extra + HEADERS + b"999999999\r\n\r\n")
        raw.sendall(bytes(1000))
        status, body, headers = parse(read_all(raw))
        sent = _send_until_closed(raw)

    assert (413, "too_large") == (status, body["error"])
    assert b"connection: close" in headers
    assert sent < ENOUGH


def read_all_or_reset(raw: socket.socket) -> bytes:
    """What was answered before the connection was closed, however that was."""
    parts = []
    try:
        while part := raw.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def _send_until_closed(raw: socket.socket, block: bytes = bytes(1 << 16)) -> int:
    sent = 0
    try:
        while sent < ENOUGH:
            sent += raw.send(block)
    except OSError:
        pass
    return sent


def test_a_body_that_drips_is_refused(server):
    with connect(server) as raw:
        raw.sendall(b"POST /search HTTP/1.1\r\n" + HEADERS + b"900\r\n\r\n[")
        status, body, _ = parse(read_all(raw))

    assert (408, "too_slow") == (status, body["error"])


def test_a_file_whose_client_has_left_is_read_no_longer(server):
    """As many endless files as there are readers, whose clients leave: the next file is read at once."""
    request = b"POST /search HTTP/1.1\r\n" + HEADERS + b'11\r\n\r\n["endless"]'
    with ExitStack() as held:
        for _ in range(READERS):
            held.enter_context(connect(server)).sendall(request)
        wait_for(lambda: len(list(uploads_of(server).glob("*.upload"))) == READERS)

    wait_for(lambda: not list(uploads_of(server).iterdir()))
    assert "format" == server.client.post("/search", content=b"[1]").json()["error"]


def test_streams_beyond_the_limit_are_refused_before_they_begin(server):
    """Of six at once two are streams, four are 429; none is broken off."""
    job = server.client.post("/search", content=b"endless").json()["job_id"]
    answered = threading.Barrier(6, timeout=180)  # the streams stay open until the last one is answered

    def first_lines(_number: int) -> tuple[int, str]:
        with httpx.stream("GET", f"{server.url}/jobs/{job}/events", timeout=180) as answer:
            texts = answer.iter_text()  # held: an iterator that is thrown away closes the stream
            first = next(texts)
            answered.wait()
            return answer.status_code, first

    with ThreadPoolExecutor(6) as pool:
        opened = list(pool.map(first_lines, range(6)))
    server.client.delete(f"/jobs/{job}")

    assert [200] * 2 + [429] * 4 == sorted(status for status, _ in opened)
    for status, text in opened:
        assert text.startswith("event: progress\n" if status == 200 else '{"error":"busy"')


def test_a_motion_file_never_stops_the_service(tmp_path):
    """One that is never read to its end, or eats memory, or kills its reader: 422, and the next is read."""
    with serving(tmp_path / "dances.db", "QUICK_READ_SECONDS=2", command=PUPPETS) as running:
        with ThreadPoolExecutor(3) as pool:
            troubles = ("endless", "hungry", "deadly")
            sent = [
                pool.submit(running.client.post, "/search", content=f'["{trouble}"]'.encode())
                for trouble in troubles
            ]
            assert is_well(running)
            answers = [one.result() for one in sent]
        good = write_dance(tmp_path / "good.npz", 1).read_bytes()

        assert [(422, "too_costly")] * 3 == [(one.status_code, one.json()["error"]) for one in answers]
        assert 200 == running.client.post("/search", content=good).status_code


def test_the_document_tells_the_errors_of_connections():
    page = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([\d, ]+) \| (.+?) \|", page.partition("## Errors")[2], re.MULTILINE))

    assert "`too_slow`" in rows["408"]
    assert "`not_ready`" in rows["503"]
