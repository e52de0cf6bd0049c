"""On the sealed LUNA16 set a submission gets the official metrics, and they leave it rounded."""

from pathlib import Path

import pytest

from builders.people import person_key
from builders.sealed import POLICY
from nodulebench.custody.bundle import BundleOptions, write_bundle
from nodulebench.custody.evaluate import SealedEvaluateOptions, evaluate_sealed
from nodulebench.custody.seal import SealOptions, seal_bundle
from nodulebench.custody.stored_results import open_result
from nodulebench.evaluation.service import EvaluateOptions, evaluate_files

pytest.importorskip("cryptography")


def test_a_sealed_set_gives_the_metrics_of_the_plain_one(luna16_data: Path, tmp_path: Path) -> None:
    marks = next(iter(sorted((luna16_data / "submissions").glob("*.csv*"))), None)
    if marks is None:
        pytest.skip(f"no submission in {luna16_data}")
    write_bundle(BundleOptions(reference=luna16_data, out=tmp_path / "bundle"))
    (tmp_path / "policy.toml").write_text(POLICY.replace("luna16.recall", "luna16.cpm"))
    sealed = tmp_path / "sealed"
    seal_bundle(
        SealOptions(
            bundle=tmp_path / "bundle",
            out=sealed,
            own_key=person_key("Ada"),
            policy=tmp_path / "policy.toml",
        )
    )
    feedback, _ = evaluate_sealed(
        SealedEvaluateOptions(marks, sealed, person_key("Bo"), "Example", bootstraps=50)
    )
    plain, _ = evaluate_files(
        EvaluateOptions(marks=(marks,), reference=luna16_data, protocol="luna16", bootstraps=50)
    )
    cpm = plain.algorithms[0].rules["luna16"].metrics["cpm"]
    assert feedback["metrics"]["luna16.cpm"]["value"] == round(cpm.value, 2)
    stored = open_result(sealed, person_key("Cem"), 2)["evaluation"]
    assert stored["algorithms"][0]["rules"]["luna16"]["metrics"]["cpm"] == cpm.to_json()
    assert stored["digests"] == plain.digests
