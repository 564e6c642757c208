"""Where ``fcntl``, ``resource`` and what else only POSIX systems have do not exist, as on Windows."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import discreet as dc
from discreet import system
from discreet.collect.service import limits
from support.journeys import drop_file
from support.serving_pages import release_form, start_pages
from support.source import MODULES, import_name, tree

pytestmark = pytest.mark.xdist_group("pages")

#: Modules that Windows does not have.
POSIX_MODULES = ("fcntl", "resource", "pwd", "grp", "spwd", "termios", "tty", "pty", "syslog", "crypt", "nis", "posix")

#: What ``os`` and ``signal`` do not have there.
POSIX_NAMES = {
    "os": (
        "fork", "forkpty", "register_at_fork", "getuid", "geteuid", "getgid", "getegid", "getgroups", "setsid",
        "killpg", "chown", "fchmod", "fchown", "mkfifo", "nice", "uname", "statvfs", "sync", "sysconf",
        "sched_getaffinity", "pread", "pwrite", "getloadavg", "O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC", "O_SYNC",
        "O_DSYNC", "O_NONBLOCK",
    ),
    "signal": ("SIGKILL", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGPIPE", "SIGCHLD", "alarm", "setitimer"),
}  # fmt: skip

#: Run by every Python process before anything else: takes away what it can without breaking Python itself.
SITE = f"""
import os, sys
for name in {[name for name in POSIX_MODULES if name != "posix"]!r}:
    sys.modules[name] = None
for name in ("fork", "forkpty", "register_at_fork", "getuid", "geteuid", "getgid", "getegid", "O_DIRECTORY",
             "O_CLOEXEC", "sched_getaffinity", "getloadavg", "nice"):
    if hasattr(os, name):
        delattr(os, name)
"""


@pytest.fixture(scope="module")
def without_posix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that, on the path of a Python process, takes away what Windows does not have."""
    folder = tmp_path_factory.mktemp("other_system")
    (folder / "sitecustomize.py").write_text(SITE)
    return folder


def path_with(folder: Path) -> str:
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])


def run(folder: Path, program: str, *words: str) -> str:
    """Run a program there; returns what it printed."""
    environment = {**os.environ, "PYTHONPATH": path_with(folder)}
    ended = subprocess.run(
        [sys.executable, "-c", program, *words], env=environment, capture_output=True, text=True, timeout=300
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def posix_uses(module: ast.Module) -> list[str]:
    """Return the imports and attributes in a module that Windows does not have."""
    uses = []
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            uses += [alias.name for alias in node.names if alias.name.split(".")[0] in POSIX_MODULES]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module in POSIX_MODULES:
            uses.append(node.module)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            uses += [node.attr] if node.attr in POSIX_NAMES.get(node.value.id, ()) else []
    return uses


def test_only_one_module_knows_what_systems_do_differently() -> None:
    assert set(posix_uses(tree(MODULES["system"]))) >= {"fcntl", "resource", "register_at_fork"}  # they are found
    assert {name: uses for name, path in MODULES.items() if name != "system" and (uses := posix_uses(tree(path)))} == {}


def test_every_module_can_be_imported_there(without_posix: Path) -> None:
    # those that need an extra that is not installed are left out: what they need is not there on any system
    names = [import_name(name) for name in MODULES if not name.startswith("collect.spark")]
    program = """
import importlib, sys
try:
    import fcntl
except ImportError:
    pass
else:
    sys.exit("fcntl is there")
for name in sys.argv[1:]:
    if name.endswith("__main__"):
        continue
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name in ("fcntl", "resource", "pwd", "grp", "termios"):
            raise
print(len(sys.argv) - 1)
"""
    assert int(run(without_posix, program, *names)) > 200


def test_a_count_is_released_and_paid_there(without_posix: Path, tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("person,site\n" + "".join(f"p{k},{k % 3}\n" for k in range(99)))
    program = """
import sys, discreet as dc
folder = sys.argv[1]
book = dc.Ledger.create(folder + "/v.ledger", dataset="v", unit="person", epsilon=1)
released = dc.release_counts("SELECT site, COUNT(*) FROM v GROUP BY site", data=folder + "/v.csv", unit="person",
                             domain={"site": range(3)}, max_groups=1, epsilon=1, ledger=book)
folder = released.save(folder + "/bundle")
print(book.left().epsilon, dc.verify(folder, ledger=book).holds)
try:
    dc.release_counts("SELECT COUNT(*) FROM v", data=sys.argv[1] + "/v.csv", unit="person", epsilon=1, ledger=book)
except dc.errors.BudgetExceeded:
    print("refused")
"""
    assert run(without_posix, program, str(tmp_path)).split() == ["0", "True", "refused"]


def test_the_pages_start_release_and_judge_there(
    without_posix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", path_with(without_posix))
    pages = start_pages(tmp_path)
    try:
        visitor = pages.enter()
        form = release_form(pages, "first")
        review = pages.post(visitor, "/release/review", form).body.decode().replace("&#34;", '"')
        key = re.findall(r'"key": "([0-9a-f]+)"', review)[0]
        assert "hx-redirect" in pages.post(visitor, "/release/run", [*form, ("key", key)]).headers
        assert dc.Ledger.open(tmp_path / "visits.ledger").spent().epsilon == 1
        (tmp_path / "m.csv").write_text("0.75,0.25\n0.25,0.75\n")
        assert "ε = 1.09862" in drop_file(pages, visitor, tmp_path / "m.csv")
    finally:
        pages.stop()


@pytest.mark.parametrize("missing", [False, True])
def test_a_file_has_one_holder_with_and_without_flock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: bool
) -> None:
    if missing:
        monkeypatch.setattr(system, "_locks", None)
    lock = system.lock_file(tmp_path / "lock")
    assert lock is not None and system.lock_file(tmp_path / "lock") is None
    lock.close()
    again = system.lock_file(tmp_path / "lock")
    assert again is not None
    again.close()
    with pytest.raises(OSError):
        system.lock_file(tmp_path / "nowhere" / "lock")


def test_a_store_has_one_writer_there_and_is_free_when_that_is_killed(without_posix: Path, tmp_path: Path) -> None:
    opening = """
import sys, time
from discreet.collect.stores.open import report_store
from discreet.databases.failures import StoreUnavailable
store = report_store(sys.argv[1])
try:
    store.open()
except StoreUnavailable:
    print("in use")
else:
    print("open", flush=True)
    sys.stdin.read() if len(sys.argv) > 2 else store.close()
"""
    store = str(tmp_path / "reports.db")
    first = subprocess.Popen(
        [sys.executable, "-c", opening, store, "hold"], env={**os.environ, "PYTHONPATH": path_with(without_posix)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with first:
        assert first.stdout is not None and first.stdout.readline() == "open\n"
        assert run(without_posix, opening, store) == "in use\n"
        first.kill()
    assert run(without_posix, opening, store) == "open\n"


def test_what_a_system_cannot_bound_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    assert system.max_open_files() is None or limits.max_connections() <= limits.MAX_CONNECTIONS
    monkeypatch.setattr(system, "_limits", None)
    assert system.max_open_files() is None and system.limit_memory(10**12) is False
    assert limits.max_connections() == limits.MAX_CONNECTIONS
