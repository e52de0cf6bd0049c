"""Each platform's layout is made in a folder, and our command called as the platform would."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from builders.made_up import Skill, made_up_reference, made_up_submission
from nodulebench.core.documents.evaluation import evaluation_document
from nodulebench.core.errors import InputError
from nodulebench.core.protocol import protocol_text
from nodulebench.core.tables import Submission
from nodulebench.evaluation.platform_scoring import marks_in, pack_for, score_as
from nodulebench.evaluation.platforms import PLATFORMS
from nodulebench.evaluation.service import EvaluateOptions, evaluate_files
from nodulebench.io.bundle import write_reference
from nodulebench.io.marks.grand_challenge import write_marks as write_points
from nodulebench.io.marks.luna16 import write_marks

TRUTH = made_up_reference(8, 30, 3)
MADE_MARKS = made_up_submission(TRUTH, Skill("one", 0.9, 0.5, 1.0, 2.0), 3)
MARKS = replace(MADE_MARKS, slices=None)


@pytest.fixture(scope="module")
def test_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("set") / "bundle"
    write_reference(TRUTH, folder)
    return folder


@pytest.fixture(scope="module", params=list(PLATFORMS))
def packed(
    request: pytest.FixtureRequest, test_set: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """A platform, and what an organiser brings to it."""
    out = tmp_path_factory.mktemp("packed") / request.param
    pack_for(PLATFORMS[request.param], test_set, "luna16", out, "scorer:1")
    return request.param, out


def submitted(platform: str, marks: Submission, folder: Path) -> Path:
    """Marks as a platform lays them down for a scorer."""
    if platform != "grand-challenge":
        write_marks(marks, folder / "marks.csv", TRUTH.cases)
        (folder / "metadata").write_text("made by the platform")
        return folder
    scaled = marks.marks.with_columns(pl.col("score") / (marks.marks["score"].max() or 1.0))
    write_points(replace(marks, marks=scaled), folder / "points", TRUTH.cases)
    jobs = []
    for number, file in enumerate(sorted((folder / "points").iterdir())):
        place = folder / f"job-{number}" / "output" / "nodules.json"
        place.parent.mkdir(parents=True)
        shutil.move(file, place)
        image = {"socket": {"relative_path": "images/ct"}, "image": {"name": f"{file.stem}.mha"}}
        points = {"socket": {"relative_path": "nodules.json"}, "value": None}
        jobs.append({"pk": f"job-{number}", "inputs": [image], "outputs": [points]})
    (folder / "points").rmdir()
    (folder / "predictions.json").write_text(json.dumps(jobs))
    return folder


def called(
    platform: str, packed: Path, marks: Path, answer: Path
) -> subprocess.CompletedProcess[str]:
    known = PLATFORMS[platform]
    places = ["--marks", marks, "--reference", packed / known.packed, "--out", answer]
    command = [sys.executable, "-m", "nodulebench", "platform", "score", platform, *places]
    return subprocess.run(
        [*map(str, command), "--protocol", str(packed / known.packed_protocol)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_metrics_are_those_of_evaluate_to_the_last_bit(
    packed: tuple[str, Path], test_set: Path, tmp_path: Path
) -> None:
    platform, folder = packed
    marks = tmp_path / "marks"
    marks.mkdir()
    ran = called(platform, folder, submitted(platform, MARKS, marks), tmp_path / "answer.json")
    assert ran.returncode == 0, ran.stderr
    output = yaml.safe_load((tmp_path / "answer.json").read_text())  # JSON is YAML
    given = marks if platform == "grand-challenge" else marks / "marks.csv"
    evaluation, _ = evaluate_files(
        EvaluateOptions(marks=(given,), reference=test_set, protocol="luna16")
    )
    ((_, _, result),) = evaluation_document(evaluation).soundly.results
    metrics: dict[str, Any] = result.metrics
    cpm, at_1 = metrics["cpm"], metrics["sensitivity_at_fp_rate"]["1"]
    assert (output["luna16_cpm"], output["luna16_cpm_low"]) == (cpm.value, cpm.low)
    assert output["luna16_sensitivity_at_fp_rate_1"] == at_1.value
    words = {name for name, value in output.items() if isinstance(value, str)}
    assert words == (set() if platform == "codabench" else {"scorer", "protocol"})


def test_columns_of_the_leaderboard_are_keys_of_the_answer(
    packed: tuple[str, Path], tmp_path: Path
) -> None:
    platform, folder = packed
    known = PLATFORMS[platform]
    (tmp_path / "in").mkdir()
    answer = score_as(
        known,
        marks=submitted(platform, MARKS, tmp_path / "in"),
        reference=folder / known.packed,
        protocol=folder / known.packed_protocol,
        answer=tmp_path / "made" / "answer.json",
    )
    output = json.loads(answer.read_text())
    if platform == "codabench":
        (board,) = yaml.safe_load((folder / "competition.yaml").read_text())["leaderboards"]
        keys = [column["key"] for column in board["columns"]]
        assert {column["sorting"] for column in board["columns"]} == {"desc"}
        assert keys[:3] == ["luna16_cpm", "luna16_cpm_low", "luna16_cpm_high"]
        assert set(keys) <= set(output)
        named = [board["title"], *(column["title"] for column in board["columns"])]
        assert named[1] == "CPM, rule luna16"
    else:
        assert "`luna16_cpm`" in (folder / "README.md").read_text()


def test_a_folder_is_whole_for_its_platform(packed: tuple[str, Path]) -> None:
    platform, folder = packed
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    reference = f"{PLATFORMS[platform].packed}/nodules.parquet"
    assert {"Dockerfile", "README.md", reference, str(PLATFORMS[platform].packed_protocol)} <= names
    dockerfile = (folder / "Dockerfile").read_text()
    assert "USER scorer" in dockerfile
    if platform == "codabench":
        competition = yaml.safe_load((folder / "competition.yaml").read_text())
        pages = [competition["image"], competition["terms"], competition["pages"][0]["file"]]
        assert set(pages) <= names
        (task,) = competition["tasks"]
        assert (folder / task["reference_data"]).is_dir()
        command = yaml.safe_load((folder / "scoring_program" / "metadata.yaml").read_text())
        assert command["command"].split()[:4] == ["nodulebench", "platform", "score", "codabench"]
    else:
        assert f'ENTRYPOINT ["nodulebench", "platform", "score", "{platform}"]' in dockerfile
    if platform == "medperf":
        config = yaml.safe_load((folder / "container_config.yaml").read_text())
        (output,) = config["tasks"]["evaluate"]["output_volumes"].values()
        assert output["mount_path"] == str(PLATFORMS[platform].answer)


@pytest.mark.slow
def test_a_participant_reads_nothing_of_the_reference(
    packed: tuple[str, Path], tmp_path: Path
) -> None:
    platform, folder = packed
    spoilt = tmp_path / "spoilt"
    shutil.copytree(folder, spoilt)
    (spoilt / PLATFORMS[platform].packed / "nodules.parquet").write_bytes(b"secret")
    marks = tmp_path / "in"
    marks.mkdir()
    ran = called(platform, spoilt, submitted(platform, MARKS, marks), tmp_path / "answer.json")
    assert ran.returncode != 0
    output = ran.stdout + ran.stderr
    assert "this benchmark: has an error: the reference cannot be read." in output
    assert "parquet" not in output
    assert not (tmp_path / "answer.json").exists()


@pytest.mark.slow
def test_problems_of_marks_name_the_line(packed: tuple[str, Path], tmp_path: Path) -> None:
    platform, folder = packed
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "marks.csv").write_text(
        f"seriesuid,coordX,coordY,coordZ,probability\n{TRUTH.cases['case_id'][0]},1,2,here,0.5\n"
    )
    ran = called(platform, folder, tmp_path / "in", tmp_path / "answer.json")
    assert ran.returncode != 0
    assert "marks.csv line 2" in ran.stderr


def test_the_only_entry_of_a_folder_is_the_submission(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds nothing"):
        marks_in(tmp_path)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("x")
    with pytest.raises(InputError, match=r"holds a.csv, b.csv; expected one file"):
        marks_in(tmp_path)
    (tmp_path / "b.csv").unlink()
    (tmp_path / "__MACOSX").mkdir()
    assert marks_in(tmp_path) == marks_in(tmp_path / "a.csv") == tmp_path / "a.csv"


def test_jobs_with_a_list_of_points_are_the_submission(tmp_path: Path) -> None:
    (tmp_path / "predictions.json").write_text(json.dumps([{"pk": "1"}]))
    assert marks_in(tmp_path) == tmp_path


def test_links_to_the_reference_and_pipes_are_not_followed(test_set: Path, tmp_path: Path) -> None:
    protocol = tmp_path / "protocol.toml"
    protocol.write_text(protocol_text("luna16"))
    places = {"reference": test_set, "protocol": protocol, "answer": tmp_path / "answer.json"}
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "marks.parquet").symlink_to(test_set / "nodules.parquet")
    (tmp_path / "piped").mkdir()
    os.mkfifo(tmp_path / "piped" / "marks.csv")
    for name, words in {"linked": "a link", "piped": "a pipe", "none": "does not exist"}.items():
        with pytest.raises(InputError, match=words):
            score_as(PLATFORMS["codabench"], marks=tmp_path / name, **places)
    assert not (tmp_path / "answer.json").exists()


def test_a_sealed_set_goes_to_no_platform(tmp_path: Path) -> None:
    sealed = tmp_path / "sealed"
    sealed.mkdir()
    from nodulebench.io.bundle import SEALED_NOTE

    (sealed / SEALED_NOTE).write_text("sealed")
    with pytest.raises(InputError, match="is a sealed test set"):
        pack_for(PLATFORMS["codabench"], sealed, "luna16", tmp_path / "out", "x")
    assert not (tmp_path / "out").exists()


def test_marks_that_no_rule_can_label_are_an_error(test_set: Path, tmp_path: Path) -> None:
    write_marks(MARKS, tmp_path / "points.csv", TRUTH.cases)
    protocol = tmp_path / "protocol.toml"
    protocol.write_text(protocol_text("nifdc-2022"))
    places = {"marks": tmp_path / "points.csv", "reference": test_set, "protocol": protocol}
    with pytest.raises(InputError, match="cannot be evaluated under any rule of this benchmark"):
        score_as(PLATFORMS["medperf"], **places, answer=tmp_path / "answer.json")
    assert not (tmp_path / "answer.json").exists()


def test_marks_that_hit_nothing_have_no_place_in_an_order(test_set: Path, tmp_path: Path) -> None:
    away = MARKS.marks.with_columns(x_mm=pl.lit(9000.0))
    write_marks(replace(MARKS, marks=away), tmp_path / "away.csv", TRUTH.cases)
    protocol = tmp_path / "protocol.toml"
    protocol.write_text(protocol_text("luna16"))
    places = {"marks": tmp_path / "away.csv", "reference": test_set, "protocol": protocol}
    with pytest.raises(InputError, match="leaves cpm undefined under the rule luna16"):
        score_as(PLATFORMS["codabench"], **places, answer=tmp_path / "answer.json")
    assert not (tmp_path / "answer.json").exists()


def test_a_protocol_without_an_applicable_rule_is_refused(tmp_path: Path) -> None:
    write_reference(replace(TRUTH, slices=None), tmp_path / "set")
    with pytest.raises(InputError, match="cannot be evaluated under any rule of nifdc-2022"):
        pack_for(PLATFORMS["medperf"], tmp_path / "set", "nifdc-2022", tmp_path / "out", "x")
