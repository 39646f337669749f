"""Who may do what: secrets with a scope, read from a file."""

import hashlib
import hmac
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from dancematch.errors import InputError

Scope = Literal["read", "write"]
EVERYTHING: frozenset[Scope] = frozenset(get_args(Scope))
NOTHING: frozenset[Scope] = frozenset()
SHORTEST = 16  # characters of a secret

_GRANTS: dict[str, frozenset[Scope]] = {"read": frozenset({"read"}), "write": EVERYTHING}


@dataclass(frozen=True)
class Tokens:
    """Digests of the secrets with what each allows; false if there are none."""

    grants: tuple[tuple[bytes, frozenset[Scope]], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.grants)

    def allowed(self, secret: str | None) -> frozenset[Scope]:
        """What whoever shows this secret may do; everything where there are no tokens."""
        if not self.grants:
            return EVERYTHING
        shown, allowed = _digest(secret or ""), NOTHING
        for digest, scopes in self.grants:  # all of them, so that the time tells nothing
            if hmac.compare_digest(digest, shown):
                allowed = allowed | scopes
        return allowed


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="surrogateescape")).digest()


def read_tokens(path: Path) -> Tokens:
    """The tokens of a file: a scope and a secret a line, `#` begins a remark."""
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
            case [scope, secret] if scope in _GRANTS and len(secret) >= SHORTEST:
                if _digest(secret) in grants:
                    told = "this secret is in an earlier line too; give each its own"
                    raise InputError(f"{path}, line {number}: {told}")
                grants[_digest(secret)] = _GRANTS[scope]
            case _:
                raise InputError(
                    f"{path}, line {number}: 'read SECRET' or 'write SECRET' was expected, "
                    f"the secret of {SHORTEST} characters or more"
                )
    if not grants:
        raise InputError(f"{path} holds no token; write 'write SECRET' into it")
    return Tokens(tuple(grants.items()))


def is_open_to_others(path: Path) -> bool:
    """Whether other users of this machine may read or change a file."""
    return os.name == "posix" and bool(path.stat().st_mode & 0o066)
