"""Which dances share passages with a dance."""

from dataclasses import dataclass

from pydantic import BaseModel

from dancematch.pipeline.lineage import Lineage, LineageNode, PassageRarity, SharedPassage
from dancematch.pipeline.wording import ratio_cell
from dancematch.server.schemas.base import with_example


@dataclass(frozen=True)
class EdgeResponse(SharedPassage):
    """A passage that another dance holds too, with the strength of the evidence in words."""

    evidence: str = ""

    @classmethod
    def of(cls, edge: SharedPassage) -> "EdgeResponse":
        """The edge with its ratio put into words."""
        return cls(**vars(edge), evidence=ratio_cell(edge.log_ratio))


class LineageResponse(BaseModel):
    """A graph: dances are nodes, shared passages are edges from the dance that was asked about to others."""

    model_config = with_example(
        dance_id="d3f0c2a9b8e7d6c", name="Thriller", date="1983",
        nodes=[
            {"dance_id": "d3f0c2a9b8e7d6c", "name": "Thriller", "date": "1983", "order": None,
             "shared_seconds": 0.0},
        ],
        edges=[], passages=[], searches=4,
    )  # fmt: skip
    dance_id: str
    name: str
    date: str | None
    nodes: tuple[LineageNode, ...]
    edges: list[EdgeResponse]
    passages: tuple[PassageRarity, ...]
    searches: int

    @classmethod
    def of(cls, found: Lineage) -> "LineageResponse":
        """The lineage as it was traced."""
        return cls(**vars(found) | {"edges": [EdgeResponse.of(edge) for edge in found.edges]})
