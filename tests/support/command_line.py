"""The command line: within the process of the test, which is quick, or in a process of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import typer

from discreet.cli import app, main


class Ended(NamedTuple):
    """How a command ended, with what it printed."""

    returncode: int
    stdout: str
    stderr: str


def run(
    *arguments: object,
    code: int | None = 0,
    stdin: str | bytes = b"",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Ended:
    """Run ``discreet`` with these arguments in this process, as the installed program would.

    Parameters
    ----------
    code
        The exit code it must leave with; None for any.
    stdin
        Standard input.
    cwd
        The folder to run in.
    env
        Variables to set.
    """
    return _in_this_process(main, arguments, code, stdin, cwd, env)


def invoke(*arguments: object, code: int = 0) -> Ended:
    """Run a verb in this process and let its errors through, so that a test can check their parts."""
    return _in_this_process(app, arguments, code)


def printed(*arguments: object) -> str:
    """Return what a verb prints in a wide terminal; its errors are raised."""
    return _in_this_process(app, arguments, 0, env={"COLUMNS": "200", "TERM": "dumb"}).stdout


@cache
def _command() -> Any:
    """Return the verbs as Typer reads them, which takes longer than most of them do."""
    return typer.main.get_command(app)


def _in_this_process(
    program: Callable[[], object],
    arguments: tuple[object, ...],
    code: int | None,
    stdin: str | bytes = b"",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Ended:
    command = _command()
    given = io.TextIOWrapper(io.BytesIO(stdin.encode() if isinstance(stdin, str) else stdin), encoding="utf-8")
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    before = Path.cwd()
    leaves_with: object = 0
    try:
        os.chdir(cwd or before)
        with (
            mock.patch.object(sys, "argv", ["discreet", *map(str, arguments)]),
            mock.patch.object(sys, "stdin", given),
            mock.patch.object(typer.main, "get_command", return_value=command),
            mock.patch.dict(os.environ, env or {}),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            program()
    except SystemExit as leaving:
        leaves_with = leaving.code
    finally:
        os.chdir(before)
    printed, complained = (_text(stream) for stream in (out, err))
    assert leaves_with is None or isinstance(leaves_with, int)
    return _checked(Ended(leaves_with or 0, printed, complained), code)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8")


def run_program(*arguments: object, code: int = 0, cwd: Path | None = None, timeout: float = 600) -> Ended:
    """Run ``discreet`` as a person does, in a process of its own; it must leave with this exit code."""
    command = [sys.executable, "-m", "discreet.cli", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=timeout, stdin=subprocess.DEVNULL)
    return _checked(Ended(done.returncode, done.stdout, done.stderr), code)


def _checked(ended: Ended, code: int | None) -> Ended:
    assert code is None or ended.returncode == code, ended
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended
