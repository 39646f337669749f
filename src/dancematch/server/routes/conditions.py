"""The condition on which a request is made: that a dance is as the caller knows it."""

from typing import Annotated

from fastapi import Depends, Header

from dancematch.server.etags import Condition


async def _read_condition(
    if_match: Annotated[str | None, Header(description="ETags of the dance, or *")] = None,
) -> Condition:
    return Condition.of(if_match)


IfMatch = Annotated[Condition, Depends(_read_condition)]
