"""Runs one command and sees to it that the command never outlives whoever asked for it.

A process killed with SIGKILL cannot clean up, so something beside it has to. Asking the kernel
alone (PR_SET_PDEATHSIG) is not enough: that signal is tied to the *thread* that forked, and a
test's thread may end long before its process. This guard has one thread and two ties: it kills its
child when the socket to its parent closes or when its parent changes, and the kernel kills the
child when the guard itself dies.

It must not import anything outside the standard library, nor know what it runs: it is started as a
file, in an isolated interpreter, so that it costs milliseconds and no path can break it.

Protocol, on the inherited socket: the guard says `pid <n>` or `failed <reason>` once; then each
byte from the parent is a signal number, answered with `ok` when it was delivered and `gone` when
there was nobody left. The guard ends as its child ended, by code or by signal.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import socket
import subprocess
import sys

PARENT_CHECK_S = 1.0
PR_SET_PDEATHSIG = 1

# Everything the command started has to be frozen or killed with it; an orderly end is asked of the
# command alone, which then looks after its own children.
GROUP_SIGNALS = {signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT}


def die_with_guard() -> None:
    """Ask the kernel to kill this process when the guard's only thread ends (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def send(child: subprocess.Popen[bytes], signum: int) -> bytes:
    """Deliver one signal and say whether somebody was there to receive it."""
    if child.poll() is not None:
        return b"gone\n"
    if signum in GROUP_SIGNALS:
        os.killpg(child.pid, signum)
    else:
        os.kill(child.pid, signum)
    return b"ok\n"


def watch(child: subprocess.Popen[bytes], parent: socket.socket, wakeup_fd: int, ppid: int) -> None:
    """Pass signals on; return when the child has ended or the parent is gone."""
    channel_fd = parent.fileno()
    while child.poll() is None:
        ready, _, _ = select.select([channel_fd, wakeup_fd], [], [], PARENT_CHECK_S)
        # A process forked from the parent may hold a copy of its socket, so an open socket alone
        # does not prove that the parent lives.
        if os.getppid() != ppid:
            return
        if wakeup_fd in ready:
            os.read(wakeup_fd, 512)
        if channel_fd in ready:
            try:
                asked = parent.recv(1)
                if not asked:
                    return
                parent.sendall(send(child, asked[0]))
            except ConnectionError:
                return


def end_like(returncode: int) -> None:
    """Exit with the child's code, or die of the child's signal without leaving a core file."""
    if returncode < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError, ValueError):
            signal.signal(-returncode, signal.SIG_DFL)
        os.kill(os.getpid(), -returncode)
    os._exit(returncode & 0xFF)


def main(arguments: list[str]) -> None:
    """Run `arguments[2:]`, bound to the socket `arguments[0]` and to the parent `arguments[1]`."""
    parent = socket.socket(fileno=int(arguments[0]))
    parent.set_inheritable(False)
    wakeup_read, wakeup_write = os.pipe()
    os.set_blocking(wakeup_write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakeup_write)

    try:
        # What makes preexec_fn unsafe is a second thread, and this process has one.
        child = subprocess.Popen(arguments[2:], process_group=0, preexec_fn=die_with_guard)  # noqa: PLW1509
    except OSError as exc:
        parent.sendall(f"failed {exc}\n".encode())
        os._exit(127)
    with contextlib.suppress(OSError):  # A parent that is already gone is seen by `watch`.
        parent.sendall(f"pid {child.pid}\n".encode())

    watch(child, parent, wakeup_read, int(arguments[1]))
    # The command, if it is left without a parent, and whatever it left running. The group's number
    # cannot have been given to others: the kernel keeps it while the group has members, and hands
    # out numbers in turn.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    end_like(child.wait())


if __name__ == "__main__":
    main(sys.argv[1:])
