"""A program on a terminal of its own, and what a person would see there: an emulator that we did not write reads it."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

sys.path.append("/usr/lib/python3/dist-packages")  # where Debian puts it, whichever python this is
import pyte  # noqa: E402

TIMEOUT = 60  # seconds: only ends what hangs


class Terminal:
    def __init__(self, command, lines=24, columns=100, env=None):
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.status = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, env)
        self.resize(lines, columns)

    def resize(self, lines, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.screen.resize(lines, columns)

    def keys(self, text):
        os.write(self.fd, text.encode() if isinstance(text, str) else text)

    @property
    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def row(self, wanted):
        return next((line for line in self.screen.display if wanted in line), None)

    def reads(self):
        """Takes what comes next. False at the end."""
        ready, _, _ = select.select([self.fd], [], [], 0.2)
        if not ready:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.raw += data
        self.stream.feed(data)
        return bool(data)

    def wait_for(self, holds, what=None):
        """Until the screen is so. `holds` is a text, or a function of the screen's text."""
        if isinstance(holds, str):
            wanted = holds
            holds = lambda text: wanted in text  # noqa: E731
        end = time.monotonic() + TIMEOUT
        while not holds(self.text):
            if not self.reads():
                raise AssertionError(f"it ended before {what or 'the screen was right'}:\n{self.text}")
            if time.monotonic() > end:
                raise AssertionError(f"never {what or 'right'}:\n{self.text}")

    def wait_for_end(self):
        while self.reads():
            pass
        if self.status is None:
            _, status = os.waitpid(self.pid, 0)
            self.status = os.waitstatus_to_exitcode(status)
        return self.status

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)
