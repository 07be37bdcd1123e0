"""Check the SBOM of wheels against CycloneDX's schema: `python -m scripts.release.check_sbom dist/*.whl`."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator


def main() -> int:
    """Print what is wrong, and return the exit code."""
    code = 0
    for wheel in map(Path, sys.argv[1:]):
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if ".dist-info/sboms/" in name]
            errors = [
                error
                for name in names
                if (
                    error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(archive.read(name).decode())
                )
            ]
        if errors or not names:
            print(f"{wheel}: {errors or 'there is no SBOM: run `make wheel`'}", file=sys.stderr)
            code = 1
        else:
            print(f"{wheel}: {', '.join(names)} is valid CycloneDX")
    return code


if __name__ == "__main__":
    sys.exit(main())
