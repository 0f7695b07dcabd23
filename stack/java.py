"""Where Java is and which jars a service needs, so that services are one command line each.

Jars come from `stack/jars/<name>.pom.xml` through `make setup`. This module must not fetch
anything: starting a service never depends on a network.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Final

from stack.errors import StackError

ROOT = Path(__file__).resolve().parent.parent
LOGGING = Path(__file__).with_name("jars") / "log4j2.properties"

# For JDK_JAVA_OPTIONS where JVMs live for minutes: they are ready in half the time, because none of it
# goes into code that would pay off later. What is measured runs without it.
SHORT_LIVED: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def class_path(name: str) -> str:
    """Return the class path of the jars listed in `stack/jars/<name>.pom.xml`.

    Raises:
        StackError: They have not been fetched.
    """
    folder = ROOT / "build" / "jars" / name
    if not any(folder.glob("*.jar")):
        raise StackError(f"there are no jars in {folder}; run `make setup`")
    return f"{folder}/*"


def java_executable() -> str:
    """Return the `java` of JAVA_HOME, or else the one on the path.

    Raises:
        StackError: There is none.
    """
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java") if home else None
    if java is not None and java.exists():
        return str(java)
    found = shutil.which("java")
    if found is None:
        raise StackError("no java was found; install Java 17 or newer, or set JAVA_HOME")
    return found


def newer_java(version: int) -> str:
    """Return a `java` of a version at least: the usual one, or one that is installed beside it.

    Raises:
        StackError: There is none.
    """
    usual = Path(java_executable()).resolve().parents[1]
    for home in (usual, *sorted(usual.parent.iterdir())):
        if _version_of(home) >= version:
            return str(home / "bin" / "java")
    raise StackError(f"no java of version {version} or newer was found; install one, or set JAVA_HOME to it")


def _version_of(home: Path) -> int:
    """Return which version of Java has its home in a folder; 0 if none has."""
    release = home / "release"
    told = release.read_text(encoding="utf-8") if release.is_file() else ""
    found = re.search(r'^JAVA_VERSION="(\d+)', told, re.MULTILINE)
    return int(found[1]) if found else 0
