"""Edits: many corrections at once, and the last one undone."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request

from dancematch.server.access.dependencies import WRITER, ReadyService, Threads
from dancematch.server.limits import MAX_CHANGE_BYTES, MAX_EDITS_BYTES
from dancematch.server.routes.bodies import is_table, json_body, read_json, read_table, table_body
from dancematch.server.routes.openapi import errors
from dancematch.server.schemas.edits import EditsRequest, EditsResponse, UndoRequest

router = APIRouter(tags=["edits"], dependencies=[WRITER])


@router.post(
    "/edits",
    openapi_extra=table_body(EditsRequest),
    responses=errors(404, 408, 409, 412, 413, 429),
)
async def edit_many(
    request: Request,
    service: ReadyService,
    threads: Threads,
    dry_run: Annotated[bool, Query(description="Say what would change, and change nothing")] = False,
) -> EditsResponse:
    """Change dances and recordings, all that is asked for or, if one thing is wrong, nothing.

    The body is JSON, or a table (`text/csv`) that `dancematch list --csv` wrote and a person corrected.
    """
    if is_table(request):
        text = await read_table(request, service)
        return EditsResponse.of(
            await threads.other(partial(service.dances.edit_table, text, dry_run=dry_run))
        )
    asked = await read_json(request, service, EditsRequest, MAX_EDITS_BYTES)
    work = partial(service.dances.edit_many, asked.wanted(), asked.expected, dry_run=dry_run or asked.dry_run)
    return EditsResponse.of(await threads.other(work))


@router.post(
    "/edits/undo",
    openapi_extra=json_body(UndoRequest, required=False),
    responses=errors(408, 409, 412, 413, 429),
)
async def undo_edit(request: Request, service: ReadyService, threads: Threads) -> EditsResponse:
    """Take the last edit back; undone again, it is made again."""
    asked = await read_json(request, service, UndoRequest, MAX_CHANGE_BYTES)
    return EditsResponse.of(
        await threads.other(partial(service.catalogue.undo, asked.edit_id, dry_run=asked.dry_run))
    )
