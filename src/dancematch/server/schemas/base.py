"""What the answers share."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict
from pydantic_core import to_json

from dancematch.report.compare_page import round_values
from dancematch.types import FloatArray, Skeleton

EXAMPLE_TIME = "2026-01-02T03:04:05+00:00"

IntegerRows = list[list[int | None]]  # null where there is no value


def with_example(**values: Any) -> ConfigDict:
    """The configuration of a model with one example for OpenAPI."""
    return ConfigDict(json_schema_extra={"examples": [values]})


class SkeletonResponse(BaseModel):
    """A joint layout: joint i is a child of joint parents[i], -1 for a root."""

    model_config = with_example(name="body15", joints=["pelvis", "neck"], parents=[-1, 0])
    name: str
    joints: tuple[str, ...]
    parents: tuple[int, ...]

    @classmethod
    def of(cls, skeleton: Skeleton) -> "SkeletonResponse":
        """A skeleton as far as it is drawn."""
        return cls.model_validate(skeleton, from_attributes=True)


def json_response(content: Any, status: int = 200) -> Response:
    """A model or dataclass as an answer, for routes with several statuses."""
    return Response(to_json(content), status, media_type="application/json")


def round_times(seconds: Iterable[float]) -> list[float]:
    """Times to the millisecond."""
    return [value for value in round_values(seconds, 3) if value is not None]


def round_rows(values: FloatArray) -> IntegerRows:
    """Each row's numbers round_values to integers, None for NaN."""
    if not values.size:
        return [[] for _ in values]
    rows = np.round(values.reshape(len(values), -1))
    known = np.isfinite(rows)
    integers = np.where(known, rows, 0).astype(np.int64).astype(object)
    integers[~known] = None
    listed: IntegerRows = integers.tolist()
    return listed
