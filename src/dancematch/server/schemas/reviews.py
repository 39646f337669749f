"""Possible matches that wait for a decision, and decisions."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

from dancematch.catalogue.records import MAX_NAME_LENGTH, MAX_REASON_LENGTH
from dancematch.catalogue.review_records import Decision, Review
from dancematch.server.schemas.base import EXAMPLE_TIME, with_example


@dataclass(frozen=True)
class ReviewResponse(Review):
    """A possible match on the list, and what was decided, by whom and when; null while it waits."""

    __pydantic_config__ = with_example(
        review_id="r3f0c2a9b8e7d6c5", query_file="phone.mp4", query_id="9f86d081884c7d65", dancer=1,
        dance="Thriller", dance_id="d3f0c2a9b8e7d6c", recording="thriller.mp4",
        recording_id="2c26b46b68ffc68f",
        verdict="possible match", log_ratio=2.4, evalue=0.2, offset=0.0, query={"start": 0.0, "end": 8.8},
        reference={"start": 12.1, "end": 20.9}, mirrored=False, tempo=1.0, asked=EXAMPLE_TIME,
        decision="confirmed", decided_by="Anna", decided=EXAMPLE_TIME, note=None,
    )  # fmt: skip

    @classmethod
    def of(cls, review: Review) -> "ReviewResponse":
        """A review as it is."""
        return cls(**vars(review))


class ReviewsResponse(BaseModel):
    """Some reviews, the oldest first; `next` goes into `after` for the following page."""

    reviews: list[ReviewResponse]
    waiting: int  # of all
    next: str | None


class DecisionRequest(BaseModel):
    """What is decided of a possible match, and by whom; null lets it wait again."""

    model_config = ConfigDict(extra="forbid")
    decision: Decision | None
    decided_by: Annotated[str, StringConstraints(max_length=MAX_NAME_LENGTH)] | None = None
    note: Annotated[str, StringConstraints(max_length=MAX_REASON_LENGTH)] | None = None
