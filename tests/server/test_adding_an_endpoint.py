"""CONTRIBUTING's way to add an endpoint: a module of routes, one row; a toy one is guarded and described."""

from types import SimpleNamespace

import anyio
import httpx
import pytest
from fastapi import APIRouter
from pydantic import BaseModel

from dance_samples import write_dance
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.server import app
from dancematch.server.access.dependencies import READER, ReadyService
from dancematch.server.access.tokens import read_tokens
from dancematch.server.options import Options
from dancematch.server.problems import not_found
from dancematch.server.routes.openapi import errors
from dancematch.server.service import Service
from server_samples import run_async

router = APIRouter(tags=["toy"])
TOKEN = "a-secret-of-sixteen"  # noqa: S105  (of this test alone)


class LongestResponse(BaseModel):
    """The longest dance."""

    dance: str
    seconds: float


@router.get("/longest", dependencies=[READER], responses=errors(404))
def show_longest(service: ReadyService, label: str | None = None) -> LongestResponse:
    """The longest dance, perhaps of a label."""
    dances = service.catalogue.dances(label=label)
    if not dances:
        raise not_found("not_found", "there is no such dance")
    longest = max(dances, key=lambda dance: dance.seconds)
    return LongestResponse(dance=longest.name, seconds=longest.seconds)


@pytest.fixture
def service(tmp_path):
    """Two dances, and a token to read."""
    known = open_catalogue(tmp_path / "dances.db")
    known.add(write_dance(tmp_path / "short.npz", 1, eight_counts=2))
    known.add(write_dance(tmp_path / "long.npz", 2, eight_counts=4))
    (tmp_path / "tokens").write_text(f"read {TOKEN}")
    return Service(Options(known.where, tokens=read_tokens(tmp_path / "tokens")), known)


async def ask(service: Service) -> list[httpx.Response]:
    """The answers of an application in this process."""
    made = app.make_app(service)
    async with (
        made.router.lifespan_context(made),
        httpx.AsyncClient(transport=httpx.ASGITransport(made), base_url="http://127.0.0.1") as client,
    ):
        while (await client.get("/health")).status_code != 200:
            await anyio.sleep(0.05)
        refused = await client.get("/longest", headers={"Authorization": "Bearer wrong"})
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        paths = "/longest", "/longest?label=none", "/openapi.json"
        return [refused, *[await client.get(path) for path in paths]]


def test_a_toy_endpoint_answers_is_guarded_and_is_described(service, monkeypatch):
    """Its answer and its errors are those of every other: JSON, 401 without a token, in OpenAPI."""
    monkeypatch.setattr(app, "ROUTES", (*app.ROUTES, SimpleNamespace(router=router)))
    refused, found, missing, described = run_async(ask, service)

    assert 401 == refused.status_code
    assert "long" == found.json()["dance"]
    assert (404, "not_found") == (missing.status_code, missing.json()["error"])
    assert {"200", "401", "404"} <= set(described.json()["paths"]["/longest"]["get"]["responses"])
