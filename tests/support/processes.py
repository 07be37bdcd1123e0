"""Python programs in processes of their own, as users start them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.jvm import quick_start

ROOT = Path(__file__).resolve().parents[2]


def run(command: list[str], cwd: Path, text: str | None = None, **environment: str) -> str:
    """Run a command in a process of its own and return what it printed, errors included."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYSPARK", "SPARK"))}
    env |= {"PYTHONPATH": str(ROOT / "src"), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    env["SPARK_SUBMIT_OPTS"] = quick_start.options()
    done = subprocess.run(
        command, cwd=cwd, env=env | environment, input=text, text=True, timeout=400, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return done.stdout


def run_python(program: str, cwd: Path, *arguments: str) -> str:
    """Run the text of a program, likewise."""
    return run([sys.executable, "-c", program, *arguments], cwd)
