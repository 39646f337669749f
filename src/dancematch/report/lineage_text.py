"""The lineage of a dance in sentences and tables, for the command line and the evidence page alike."""

from collections.abc import Iterator

from dancematch.pipeline.lineage import Lineage, Order, PassageRarity, SharedPassage
from dancematch.pipeline.wording import rarity_cell, ratio_cell

EDGE_HEADINGS = ("dance", "recorded", "here", "there", "evidence if one dance")
RARITY_HEADINGS = ("passage", "rarity", "held by")
_NAMED = 4  # dances that hold a passage


def summarise_lineage(found: Lineage) -> str:
    """How many dances share passages with it, before and after, in a sentence or two."""
    others = found.passages[0].others if found.passages else 0
    if not others:
        return f"{found.name} is the only dance of its catalogue: there is nothing to share passages with."
    if not found.edges:
        return f"None of {others} other {_dances(others)} shares a passage with {found.name}."
    orders = [node.order for node in found.nodes[1:]]
    named: dict[Order, str] = {
        "earlier": "recorded earlier",
        "later": "recorded later",
        "same time": "recorded at the same time",
        "undated": "without a date",
    }
    told = ", ".join(f"{orders.count(order)} {text}" for order, text in named.items() if order in orders)
    count = len(orders)
    verb = "shares" if count == 1 else "share"
    return f"{count} of {others} other {_dances(others)} {verb} passages with {found.name}: {told}."


def _dances(count: int) -> str:
    return "dance" if count == 1 else "dances"


def edge_rows(found: Lineage) -> Iterator[tuple[str, ...]]:
    """One row per shared passage, under `EDGE_HEADINGS`."""
    for edge in found.edges:
        there = _where(edge.other.start, edge.other.end, None)
        yield (
            f"{edge.name} ({edge.recording})",
            _when(edge),
            _where(edge.own.start, edge.own.end, edge.counts),
            f"{there}, mirrored" if edge.mirrored else there,
            f"{edge.verdict}: {ratio_cell(edge.log_ratio)}",
        )


def _when(edge: SharedPassage) -> str:
    return "no date" if edge.date is None else edge.date + (f", {edge.order}" if edge.own_date else "")


def _where(start: float, end: float, counts: str | None) -> str:
    return f"{start:.1f} to {end:.1f} s" + (f" ({counts})" if counts else "")


def rarity_rows(found: Lineage) -> Iterator[tuple[str, ...]]:
    """One row per passage of the dance, under `RARITY_HEADINGS`."""
    several = len({one.recording_id for one in found.passages}) > 1
    for one in found.passages:
        where = _where(one.span.start, one.span.end, one.counts)
        place = f"{one.recording}, {where}" if several else where
        yield place, rarity_cell(one.dances, one.others), _holders(one)


def _holders(one: PassageRarity) -> str:
    more = f" and {len(one.names) - _NAMED} more" if len(one.names) > _NAMED else ""
    return ", ".join(one.names[:_NAMED]) + more
