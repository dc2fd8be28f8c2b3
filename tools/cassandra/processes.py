# SPDX-License-Identifier: Apache-2.0
"""Processes and folders that do not outlive the Python process they were made for, however it
ends."""
import concurrent.futures
import os
import pathlib
import queue
import shutil
import subprocess
import tempfile
import threading
import time

# Runs "$@" unless the process that wanted it ($0) is gone already.
UNLESS_ORPHAN = '[ "$PPID" = "$0" ] && exec "$@"'

# Reads until Python has closed the pipe or is gone, then removes the folder $0. Processes that die
# at that moment may still be writing there.
REMOVER = 'cat >/dev/null; while ! rm -rf -- "$0" 2>/dev/null; do sleep 0.1; done'


def wait_until(condition, what, seconds):
    """Polls until condition() is true and returns what it returned."""
    deadline = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds} s in vain: {what}")
        time.sleep(0.05)


class _Launcher:
    """One thread that starts all processes. The kernel sends a death signal when the thread that
    forked ends, so this one ends only with Python."""

    def __init__(self):
        self.pid = os.getpid()
        self.orders = queue.SimpleQueue()
        threading.Thread(target=self._work, name="launcher", daemon=True).start()

    def _work(self):
        while True:
            future, command, options = self.orders.get()
            try:
                future.set_result(subprocess.Popen(command, **options))
            except BaseException as error:  # raised in the thread that ordered
                future.set_exception(error)

    def start(self, command, options):
        future = concurrent.futures.Future()
        self.orders.put((future, command, options))
        return future.result()


_lock = threading.Lock()
_launcher = None


def start(command, **options):
    """subprocess.Popen of a process that is killed when this Python ends. It has a process group of
    its own: Ctrl-C at the terminal does not reach it."""
    global _launcher
    with _lock:
        if _launcher is None or _launcher.pid != os.getpid():
            _launcher = _Launcher()
    return _launcher.start(["setpriv", "--pdeathsig", "KILL", "sh", "-c", UNLESS_ORPHAN,
                            str(os.getpid()), *map(str, command)],
                           {"stdin": subprocess.DEVNULL, "process_group": 0, **options})


class Folder:
    """A new temporary folder; gone after remove() or when this Python ends."""

    def __init__(self, prefix):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix=prefix))
        self.remover = subprocess.Popen(["sh", "-c", REMOVER, self.path], stdin=subprocess.PIPE,
                                        start_new_session=True, cwd="/")

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)
        self.remover.stdin.close()
        self.remover.wait()
