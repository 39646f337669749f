"""Reviews: possible matches wait for a decision."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from dancematch.catalogue.review_records import ReviewState
from dancematch.pipeline.review_list import reviews_to_csv
from dancematch.server.access.dependencies import READER, WRITER, ReadyService, Threads
from dancematch.server.limits import MAX_CHANGE_BYTES, MAX_REVIEWS
from dancematch.server.routes.bodies import json_body, read_json
from dancematch.server.routes.openapi import content, errors
from dancematch.server.schemas.requests import Reference, Text
from dancematch.server.schemas.reviews import DecisionRequest, ReviewResponse, ReviewsResponse

router = APIRouter(tags=["reviews"])

_ReviewId = Annotated[
    Reference, Path(examples=["r3f0c2a9b8e7d6c5"], description="A review's id, or the beginning of it")
]


@router.get("/reviews", dependencies=[READER], responses=errors(404))
def list_reviews(
    service: ReadyService,
    state: ReviewState = "waiting",
    dance: Text = None,
    after: Text = None,
    limit: Annotated[int, Query(ge=1, le=MAX_REVIEWS)] = MAX_REVIEWS,
) -> ReviewsResponse:
    """The possible matches that wait for a decision, those that were decided, or all, the oldest first."""
    reviews = service.catalogue.reviews
    found = reviews.read(state, dance=dance, after=after, limit=limit + 1)  # one more: whether a page follows
    shown = found[:limit]
    return ReviewsResponse(
        reviews=[ReviewResponse.of(one) for one in shown],
        waiting=reviews.count_waiting(),
        next=shown[-1].review_id if len(found) > limit else None,
    )


# The response class has no media type, so that errors are documented as JSON.
@router.get(
    "/reviews.csv",
    response_class=Response,
    dependencies=[READER],
    responses=errors(404) | content("text/csv"),
)
def export_reviews(service: ReadyService, state: ReviewState = "all", dance: Text = None) -> Response:
    """The same as a table that a spreadsheet opens safely."""
    lines = reviews_to_csv(service.catalogue.reviews.read(state, dance=dance))
    headers = {"Content-Disposition": 'attachment; filename="reviews.csv"'}
    return Response("".join(f"{line}\n" for line in lines), media_type="text/csv", headers=headers)


@router.patch(
    "/reviews/{review_id}",
    dependencies=[WRITER],
    openapi_extra=json_body(DecisionRequest),
    responses=errors(404, 408, 413, 429),
)
async def decide_review(
    request: Request, service: ReadyService, threads: Threads, review_id: _ReviewId
) -> ReviewResponse:
    """Confirm or reject a possible match, or let it wait again; who and when is kept."""
    asked = await read_json(request, service, DecisionRequest, MAX_CHANGE_BYTES)
    decide = partial(service.catalogue.reviews.decide, review_id, asked.decision)
    return ReviewResponse.of(await threads.other(decide, asked.decided_by, asked.note or None))
