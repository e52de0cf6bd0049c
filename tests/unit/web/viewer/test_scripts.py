"""The pure modules of the viewer's scripts, tested by Node.js; other tests need a browser."""

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
NODE = shutil.which("node")
TESTS = sorted(Path(__file__).with_name("scripts").glob("*.test.js"))


@pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name)
def test_scripts(path: Path) -> None:
    assert NODE is not None
    done = subprocess.run([NODE, "--test", path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_pure_module_is_tested() -> None:
    assert {path.name for path in TESTS} >= {
        f"{name}.test.js" for name in ("drafts", "grid", "outlines")
    }
