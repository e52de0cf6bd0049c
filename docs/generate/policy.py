"""CustodyPolicy -> a page: every field of the policy that is signed with a sealed set."""

from generate.markdown import code, table
from generate.protocols import fields_table
from nodulebench.custody import policy
from nodulebench.custody.policy import FEEDBACK, CustodyPolicy


def policy_page() -> str:
    """Every field of a policy, and what each level of feedback discloses."""
    schema = CustodyPolicy.model_json_schema()
    nested = [
        f"## {name}\n\n{fields_table(getattr(policy, name), part)}"
        for name, part in schema["$defs"].items()
    ]
    levels = [[code(level), meaning] for level, meaning in FEEDBACK.items()]
    return "\n\n".join(
        [
            "# Custody policy",
            "A policy is a TOML file that `nodulebench seal` signs with the test set. It cannot "
            "be changed afterwards. Unknown fields are errors. How to "
            "write one: [Seal a test set](../../how-to/custody/seal-a-test-set.md); why: "
            "[Custody](../../explanation/custody.md).",
            "## CustodyPolicy",
            fields_table(CustodyPolicy, schema),
            *nested,
            "## Levels of feedback",
            table(["level", "discloses"], levels),
            "",
        ]
    )
