"""Access tokens: secrets with a scope, read from a file."""

import hashlib
import hmac
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from dancematch.errors import InputError
from dancematch.server.limits import MIN_SECRET_LENGTH

Scope = Literal["read", "write"]
ALL_SCOPES: frozenset[Scope] = frozenset(get_args(Scope))
NO_SCOPES: frozenset[Scope] = frozenset()

_GRANTS: dict[str, frozenset[Scope]] = {"read": frozenset({"read"}), "write": ALL_SCOPES}


@dataclass(frozen=True)
class Tokens:
    """Digests of the secrets with the scopes of each; false if there are none."""

    grants: tuple[tuple[bytes, frozenset[Scope]], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.grants)

    def scopes_of(self, secret: str | None) -> frozenset[Scope]:
        """The scopes that a secret grants; all of them where there are no tokens."""
        if not self.grants:
            return ALL_SCOPES
        given, granted = _digest(secret or ""), NO_SCOPES
        for digest, scopes in self.grants:  # every one, so that the time taken reveals nothing
            if hmac.compare_digest(digest, given):
                granted = granted | scopes
        return granted


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="surrogateescape")).digest()


def read_tokens(path: Path) -> Tokens:
    """The tokens of a file: one scope and secret per line, `#` begins a comment."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the tokens in {path} cannot be read: {error}") from None
    grants: dict[bytes, frozenset[Scope]] = {}
    for number, line in enumerate(lines, start=1):
        match line.split():
            case []:
                continue
            case [first, *_] if first.startswith("#"):
                continue
            case [scope, secret] if scope in _GRANTS and len(secret) >= MIN_SECRET_LENGTH:
                if _digest(secret) in grants:
                    reason = "this secret is in an earlier line too; give each its own"
                    raise InputError(f"{path}, line {number}: {reason}")
                grants[_digest(secret)] = _GRANTS[scope]
            case _:
                raise InputError(
                    f"{path}, line {number}: 'read SECRET' or 'write SECRET' was expected, "
                    f"the secret of {MIN_SECRET_LENGTH} characters or more"
                )
    if not grants:
        raise InputError(f"{path} holds no token; write 'write SECRET' into it")
    return Tokens(tuple(grants.items()))


def is_open_to_others(path: Path) -> bool:
    """Whether other users of this machine may read or change a file."""
    return os.name == "posix" and bool(path.stat().st_mode & 0o066)
