"""The body of a request as a file, until it is answered or given to a job."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Request

from dancematch.server.files.upload import Upload, receive
from dancematch.server.jobs.runner import QueueReservation
from dancematch.server.jobs.table import Job, JobKind
from dancematch.server.options import MEGABYTE
from dancematch.server.problems import RefusedError
from dancematch.server.service import Service


class PendingUpload:
    """An upload that this request owns until a job does."""

    def __init__(self, service: Service, upload: Upload, reservation: QueueReservation) -> None:
        self.upload = upload
        self._service, self._reservation, self._queued = service, reservation, False

    @property
    def is_small(self) -> bool:
        """Whether it is answered at once."""
        most = self._service.options.sync_bytes
        if self.upload.is_small(most):
            return True
        if self.upload.holds_words:
            raise RefusedError(413, "too_large", f"words are read up to {most // MEGABYTE} MB only")
        return False

    def queue(self, kind: JobKind, parameters: Mapping[str, Any]) -> Job:
        """Give it to a job."""
        self._reservation.take()
        job = Job(
            kind, self.upload.path.name, self.upload.digest,
            parameters.get("filename"), parameters.get("dance_id"), parameters,
        )  # fmt: skip
        self._service.runner.submit(job)
        self._queued = True
        return job

    def release(self) -> None:
        """Delete it, unless a job needs it."""
        if not self._queued:
            self.upload.delete()


@asynccontextmanager
async def receive_upload(request: Request, service: Service) -> AsyncIterator[PendingUpload]:
    """The body of a request as a file, deleted afterwards unless a job needs it."""
    with request.app.state.uploads.admit(), QueueReservation(service.runner) as reservation:
        upload = await receive(
            request.stream(),
            service.folder.uploads,
            service.options,
            declared=request.headers.get("content-length"),
            on_large=reservation.take,
        )
        service.metrics.count_upload(upload.size)
        pending = PendingUpload(service, upload, reservation)
        try:
            yield pending
        finally:
            pending.release()
