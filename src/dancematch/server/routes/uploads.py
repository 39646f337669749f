"""The body of a request as a file, until it is answered or given to a job."""

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Request
from starlette.requests import ClientDisconnect

from dancematch.pipeline.analysis.file_analysis import Analysis
from dancematch.pipeline.analysis.worker_process import WorkerStoppedError
from dancematch.server import limits
from dancematch.server.access.capacity import WorkThreads
from dancematch.server.files.upload import Upload, receive
from dancematch.server.jobs.runner import QueueReservation
from dancematch.server.jobs.table import Job, JobKind
from dancematch.server.options import Options
from dancematch.server.service import Service


class PendingUpload:
    """An upload that this request owns until a job does."""

    def __init__(
        self, request: Request, service: Service, upload: Upload, reservation: QueueReservation
    ) -> None:
        self.upload = upload
        self._request, self._service, self._reservation = request, service, reservation
        self._queued = False

    async def read(self) -> Analysis | None:
        """What the file holds, if that is found out soon; None if it needs a job."""
        if self.upload.size > self._service.options.sync_bytes:
            return None
        threads: WorkThreads = self._request.app.state.threads
        readers = self._service.quick_readers
        stop = threading.Event()
        try:
            async with _sets_when_client_leaves(self._request, stop):
                found = await threads.read(
                    self.upload.size, address_of(self._request), readers.read, self.upload.path, stop
                )
        except WorkerStoppedError:
            raise ClientDisconnect from None
        is_read = found.motions or found.words
        return found if is_read and found.dancer_seconds <= limits.MAX_QUICK_DANCER_SECONDS else None

    def queue(self, kind: JobKind, parameters: Mapping[str, Any], dance: str | None = None) -> Job:
        """Give it to a job; one that adds it says to which dance."""
        self._reservation.take()
        job = Job(
            kind, self.upload.path.name, self.upload.digest,
            parameters.get("filename"), dance, parameters,
        )  # fmt: skip
        self._service.runner.submit(job)
        self._queued = True
        return job

    def release(self) -> None:
        """Delete it, unless a job needs it."""
        if not self._queued:
            self.upload.delete()


@asynccontextmanager
async def _sets_when_client_leaves(request: Request, stop: threading.Event) -> AsyncIterator[None]:
    """Set `stop` as soon as the client of a request, whose body has been received, closes the connection."""

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        stop.set()

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()


def address_of(request: Request) -> str | None:
    """The address that a request comes from; None where it is not known."""
    return request.client.host if request.client else None


@asynccontextmanager
async def receive_upload(
    request: Request, service: Service, options: Options | None = None
) -> AsyncIterator[PendingUpload]:
    """The body of a request as a file, deleted afterwards unless a job needs it.

    `options` may allow more than those of the service.
    """
    address = address_of(request)
    with request.app.state.uploads.admit(address), QueueReservation(service.runner, address) as reservation:
        upload = await receive(
            request.stream(),
            service.folder.uploads,
            options or service.options,
            declared=request.headers.get("content-length"),
            on_large=reservation.take,
        )
        service.metrics.count_upload(upload.size)
        pending = PendingUpload(request, service, upload, reservation)
        try:
            yield pending
        finally:
            pending.release()
