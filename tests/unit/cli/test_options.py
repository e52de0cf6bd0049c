"""The parameters of a command are the fields of its options, so that none is forgotten."""

from dataclasses import fields
from importlib import import_module

import click

SHARED = {"json"}
SEALED = {"key", "key_passphrase_file"}
RUN = {"earlier", "algorithm", "test_set", "out", "profile", "weights", "dry_run"}
EXECUTOR = {"executor", "workers", "tls_ca", "tls_cert", "tls_key"}

CASES = (
    (
        "evaluate:command",
        "evaluation.service:EvaluateOptions",
        {*SEALED, *EXECUTOR, "developer", "roster", "checkpoints"},
        set(),
    ),
    ("check:command", "evaluation.check:CheckOptions", set(), set()),
    ("convert:command", "evaluation.convert:ConvertOptions", set(), set()),
    ("test_plan:freeze", "evaluation.plans:FreezeOptions", set(), set()),
    ("plan:froc", "evaluation.sample_size:PilotPlanOptions", set(), set()),
    (
        "compare:command",
        "evaluation.comparison.compare:ComparisonChoice",
        {*SEALED, "folder", "old", "gate", "is_all", "evaluations", "out"},
        {"method", "is_within_use"},
    ),
    (
        "report:command",
        "evaluation.report:ReportChoice",
        {*SEALED, "folder", "out", "evaluations", "baselines"},
        set(),
    ),
    ("bundle:command", "custody.bundle:BundleOptions", set(), set()),
    (
        "seal:command",
        "custody.seal:SealOptions",
        SEALED,
        {"own_key"},
    ),
    (
        "run:command",
        "runner.run:RunChoice",
        {
            *SEALED,
            *EXECUTOR,
            "earlier",
            "algorithm",
            "test_set",
            "out",
            "profile",
            "weights",
            "dry_run",
        },
        {"slots"},
    ),
    (
        "run:command",
        "runner.run:RunChoice",
        {*SEALED, *EXECUTOR, "algorithm", "test_set", "out", "profile", "weights", "dry_run"},
        {"slots"},
    ),
    (
        "portal:command",
        "web.portal.site:Settings",
        {"host", "port", "processes", "workers", "demo", "until_parent_ends"}
        | {"oidc_issuer", "oidc_client", "oidc_name"},
        {"passwords", "provider"},
    ),
    (
        "verify:command",
        "evaluation.verify:Originals",
        {*SEALED, "folder", "public_key", "checkpoints", "images"},
        set(),
    ),
)
"""Command, options, further parameters of the command, fields that only the library sets."""


def test_parameters_are_the_fields_of_the_options() -> None:
    wrong = []
    for command_name, options_name, further, library_only in CASES:
        command, options = (
            getattr(import_module(f"nodulebench.{module}"), name)
            for module, name in (
                f"cli.{command_name}".split(":"),
                options_name.split(":"),
            )
        )
        assert isinstance(command, click.Command)
        parameters = {parameter.name for parameter in command.params} - further - SHARED
        expected = {field.name for field in fields(options)} - library_only
        if parameters != expected:
            wrong.append((command_name, parameters ^ expected))
    assert wrong == []
