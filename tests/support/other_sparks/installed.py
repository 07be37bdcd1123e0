"""Packages beside this environment's, such as PySparks of other series, installed into the cache folder."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path


def installed_pyspark(version: str) -> Path:
    """Return the folder of a PySpark, for PYTHONPATH, installed if need be (300 MB)."""
    return installed("pyspark", version, "300 MB")


def installed(package: str, version: str, size: str) -> Path:
    """Return the folder of a package of the Python package index, for PYTHONPATH, installed if need be."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "parquetry"
    wanted = base / f"{package}-{version}"
    if wanted.is_dir():
        return wanted
    base.mkdir(parents=True, exist_ok=True)
    print(f"Installing {package} {version} into {wanted} (once; {size})", flush=True)
    with tempfile.TemporaryDirectory(dir=base, prefix="installing-") as folder:
        target = Path(folder, package)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", str(target)]
        subprocess.run([*command, f"{package}=={version}"], check=True)
        try:
            target.rename(wanted)
        except OSError:
            if not wanted.is_dir():  # otherwise another process was faster
                raise
    return wanted
