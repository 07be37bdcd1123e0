"""PySparks of other series, installed from the Python package index into the cache folder."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path


def installed_pyspark(version: str) -> Path:
    """Return the folder of a PySpark, for PYTHONPATH, installed if need be (300 MB)."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "parquetry"
    wanted = base / f"pyspark-{version}"
    if wanted.is_dir():
        return wanted
    base.mkdir(parents=True, exist_ok=True)
    print(f"Installing PySpark {version} into {wanted} (once; 300 MB)", flush=True)
    with tempfile.TemporaryDirectory(dir=base, prefix="installing-") as folder:
        target = Path(folder, "pyspark")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", str(target)]
        subprocess.run([*command, f"pyspark=={version}"], check=True)
        try:
            target.rename(wanted)
        except OSError:
            if not wanted.is_dir():  # otherwise another process was faster
                raise
    return wanted
