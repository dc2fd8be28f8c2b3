# SPDX-License-Identifier: Apache-2.0
"""Gets what Cassandra needs: its jars, a Java that runs it, and on demand the Python driver. What
is fetched stays in a cache folder, $VARVE_CACHE or ~/.cache/varve."""
import contextlib
import fcntl
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

VERSION = "5.0.8"
DRIVER_VERSION = "3.30.1"
JAVA_VERSIONS = (11, 17)
SECONDS_MAX = 900


class Unreachable(Exception):
    """Something is neither here nor can be fetched; the message says what, and what to do."""


def cache_folder():
    folder = os.environ.get("VARVE_CACHE")
    return pathlib.Path(folder) if folder else pathlib.Path.home() / ".cache" / "varve"


def java():
    """The path of a Java that runs Cassandra."""
    home = os.environ.get("JAVA_HOME")
    candidates = [f"{home}/bin/java"] if home else []
    candidates += filter(None, [shutil.which("java")])
    candidates += sorted(glob.glob("/usr/lib/jvm/*/bin/java"))
    for path in candidates:
        if _java_version(path) in JAVA_VERSIONS:
            return path
    raise Unreachable("no Java 11 or 17 is installed (on Debian: openjdk-17-jre-headless)")


def _java_version(path):
    try:
        said = subprocess.run([path, "-version"], capture_output=True, text=True, check=True,
                              timeout=60).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(\d+)', said)
    return int(match.group(1)) if match else None


def jars():
    """The folder with Cassandra's jars; fetched when it is not there yet."""
    return _once(f"cassandra-{VERSION}", _fetch_jars)


def python_driver():
    """The Python of a virtual environment that has Cassandra's driver; made at the first call."""
    return _once(f"cassandra-driver-{DRIVER_VERSION}", _make_environment) / "bin" / "python"


def _once(name, make):
    """The folder `name` of the cache. When it is missing one process makes it and others wait."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / name
    if folder.is_dir():
        return folder
    with _locked(cache / f"{name}.lock"):
        if not folder.is_dir():
            for left in cache.glob(f"{name}.part-*"):  # by one that was killed
                shutil.rmtree(left, ignore_errors=True)
            part = pathlib.Path(tempfile.mkdtemp(prefix=f"{name}.part-", dir=cache))
            try:
                make(part, folder)
                part.chmod(0o755)
                part.rename(folder)
            finally:
                shutil.rmtree(part, ignore_errors=True)
    return folder


@contextlib.contextmanager
def _locked(path):
    with open(path, "a", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch_jars(part, _final):
    if not shutil.which("mvn"):
        raise Unreachable("Cassandra is not in the cache, and Maven, which fetches it, is not "
                          "installed (on Debian: maven)")
    print(f"fetching Cassandra {VERSION}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="varve-maven-") as project:
        shutil.copy(pathlib.Path(__file__).with_name("pom.xml"), project)
        _run(["mvn", "-q", "-B", "-f", f"{project}/pom.xml",
              "dependency:copy-dependencies", "-DincludeScope=runtime",
              f"-DoutputDirectory={part}"], "Maven cannot fetch Cassandra")
    if not (part / f"cassandra-all-{VERSION}.jar").is_file():
        raise Unreachable("Maven ended well but brought no Cassandra")


def _make_environment(part, final):
    """The paths inside a virtual environment are absolute: its programs name the final folder."""
    print(f"fetching the Python driver {DRIVER_VERSION}", file=sys.stderr, flush=True)
    _run([sys.executable, "-m", "venv", part],
         "a virtual environment cannot be made (on Debian: python3-venv)")
    _run([part / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check",
          "--no-input", f"cassandra-driver=={DRIVER_VERSION}"],
         "pip cannot fetch Cassandra's driver")
    for script in (part / "bin").iterdir():
        if script.is_file() and not script.is_symlink():
            script.write_bytes(script.read_bytes().replace(bytes(part), bytes(final)))


def _run(command, failure):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=SECONDS_MAX)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unreachable(f"{failure}: {error}") from None
    if done.returncode != 0:
        lines = re.sub("\x1b\\[[0-9;]*m", "", done.stdout.strip()).splitlines()
        errors = [line for line in lines if "ERROR" in line]
        raise Unreachable(f"{failure}:\n" + "\n".join(errors[:1] or lines[-8:]))
