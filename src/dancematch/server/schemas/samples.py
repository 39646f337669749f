"""Rendered files to try the service with."""

from pydantic import BaseModel

from dancematch.server.schemas.base import with_example


class SampleResponse(BaseModel):
    """A file at `/samples/{file}`."""

    model_config = with_example(name="amber-anchor (rendered)", file="amber-anchor.npz")
    name: str
    file: str


class SamplesResponse(BaseModel):
    """Made-up dances to add, and a clip of the first of them, by another dancer, to search for."""

    dances: list[SampleResponse]
    clip: SampleResponse
