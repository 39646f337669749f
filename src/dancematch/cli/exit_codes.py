"""What the exit code of the command line says, to scripts and to the tests."""

from enum import IntEnum


class ExitCode(IntEnum):
    """0 is also a match or a possible match; 2 is click's own."""

    DONE = 0
    FAILED = 1  # an error in one line on stderr, or a problem that was looked for
    WRONG_USAGE = 2
    NO_MATCH = 3
    READER_LEFT = 128 + 13  # what a shell says of a program that SIGPIPE ended, as after `| head`
