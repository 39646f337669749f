"""ETags of dances, and the conditions of requests on them (RFC 9110, section 13.1.1)."""

import re
from dataclasses import dataclass

from dancematch.errors import ChangedMeanwhileError
from dancematch.server.problems import RefusedError

_TAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_TAGS = re.compile(rf"[ \t]*{_TAG}(?:[ \t]*,[ \t]*{_TAG})*[ \t]*")


def quote_etag(etag: str) -> str:
    """An ETag as a header has it."""
    return f'"{etag}"'


@dataclass(frozen=True)
class Condition:
    """What `If-Match` asks of a dance; None: nothing but that it is there."""

    etags: tuple[str, ...] | None = None

    @classmethod
    def of(cls, header: str | None) -> "Condition":
        """The condition of a header; weak ETags, which say too little for a change, match nothing."""
        if header is None or header.strip(" \t") == "*":
            return cls()
        if not _TAGS.fullmatch(header):
            raise RefusedError(
                400,
                "bad_request",
                'If-Match has ETags in quotation marks, as in If-Match: "5d41402a", or is *',
            )
        return cls(tuple(one[1:-1] for one in re.findall(_TAG, header) if not one.startswith("W/")))

    def expected(self, dance: str, etag: str) -> dict[str, str] | None:
        """What an edit is to compare once more, by how the dance is named; refused if `etag` does not fit."""
        if self.etags is None:
            return None
        if etag not in self.etags:
            raise ChangedMeanwhileError(
                f"{dance!r} has been changed meanwhile; look at it again; nothing was changed"
            )
        return {dance: etag}
