"""Nothing in the files is true on one machine only.

Absolute paths of a home or working folder, and addresses of package mirrors,
make a file work where it was written and nowhere else.
"""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.rules.sources import ROOT

TEXT = {".cfg", ".json", ".lock", ".md", ".properties", ".py", ".sh", ".sql", ".toml", ".txt", ".xml", ".yml"}

MACHINE = re.compile(
    r"""
    (?<![\w.}>-])/(?:home|root|Users|work|mnt|srv)/\w   # somebody's folders
    | (?<![\w.}>-])/tmp/\w+/                              # or somebody's leftovers
    | \b(?:localhost|\d+(?:\.\d+){3}):\d+/(?:simple|repository|artifactory|pypi)\b
    | --(?:extra-)?index-url\s | --find-links\s | --trusted-host\s
    """,
    re.VERBOSE,
)


def _tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    names = listed.stdout.splitlines()
    return [name for name in names if name.endswith(tuple(TEXT)) or name == "Makefile"]


def test_files_hold_no_machine_paths() -> None:
    names = _tracked()
    if not names:
        pytest.skip("this is no git checkout, so what belongs to the project is not known")

    found = {
        f"{name}:{number}: {line.strip()}"
        for name in names
        if name != "tests/rules/test_machine.py" and (ROOT / name).exists()
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1)
        if MACHINE.search(line)
    }

    assert found == set()
