"""The error of a process that is at its limit of open files.

Such a process can neither open its metastore nor a data file, and the system's own error names no remedy. It
may look like a missing file, or like a lack of rights.
"""

from __future__ import annotations

import errno
import os

from parquetry.errors import OpenFilesError

_AT_LIMIT = (errno.EMFILE, errno.ENFILE)
_SUGGESTED_LIMIT = 65536


def open_files_error(error: Exception) -> OpenFilesError | None:
    """Return the error to raise in place of another one if a limit of open files is behind it, or None.

    Args:
        error: an error of the system, whose number says it. For another error, such as one of SQLite, which
            has no number, a file is opened.
    """
    if not (error.errno in _AT_LIMIT if isinstance(error, OSError) else not _can_open()):
        return None
    return OpenFilesError(
        f"This Python process (pid {os.getpid()}) can open no more files: {_limit()}. Start it with a higher limit "
        f"(ulimit -n {_SUGGESTED_LIMIT}), and look for what keeps files open (ls -l /proc/{os.getpid()}/fd)."
    )


def _can_open() -> bool:
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno not in _AT_LIMIT
    return True


def _limit() -> str:
    try:
        import resource
    except ImportError:  # on Windows
        return "it is at its limit"
    return f"its limit is {resource.getrlimit(resource.RLIMIT_NOFILE)[0]}"
