"""What the command line does before any command runs."""

import os
import subprocess
import sys


def test_a_plugin_of_another_package_has_no_say_in_how_records_are_checked(tmp_path):
    about = tmp_path / "meddler-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: meddler\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[pydantic]\nmeddler = meddler\n")
    (tmp_path / "meddler.py").write_text("raise SystemExit('the plugin was loaded')\n")
    load = f"import sys; sys.path.insert(0, {str(tmp_path)!r})"
    check = "import nodulebench.model.protocol"
    for first, status in (("", 1), ("import nodulebench.cli", 0)):
        program = "\n".join((load, first, check))
        bare = {name: value for name, value in os.environ.items() if "PYDANTIC" not in name}
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env=bare
        )
        assert done.returncode == status, done.stderr
