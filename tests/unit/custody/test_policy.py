"""Who may do what, and which policies are refused."""

import pytest

from builders.people import person_entry
from builders.sealed import POLICY
from nodulebench.core.errors import InputError
from nodulebench.custody.events import PolicySeal
from nodulebench.custody.policy import (
    ACTIONS,
    COMPARTMENTS,
    MAY,
    ROLES,
    Reuse,
    RosterPolicy,
    compartments_of,
    parse_policy,
    roles_that_may,
)
from nodulebench.security.keys import PublicKey

SAFE = 'key_custodian = "lab"\n' + person_entry("Safe", "key_custodian")


def test_a_policy_says_by_which_role_a_person_may() -> None:
    policy = parse_policy(POLICY, "policy.toml")
    assert policy.role_of("Ada", "seal") == "curator"
    assert policy.role_of("Bo", "evaluate") == "operator"
    assert policy.role_of("Cem", "inspect") == "auditor"


@pytest.mark.parametrize(
    ("person", "action", "message"),
    [
        ("Bo", "export", "'Bo' is operator and may not export. These roles may: curator."),
        ("Ada", "evaluate", "'Ada' is curator and may not evaluate. These roles may: operator."),
        ("Cem", "export", "'Cem' is auditor and may not export."),
        ("Eve", "evaluate", "does not know 'Eve'. It knows: Ada, Bo, Cem, Ria, Safe."),
    ],
)
def test_what_no_role_allows_is_refused(person: str, action: str, message: str) -> None:
    with pytest.raises(InputError, match="policy: ") as refused:
        parse_policy(POLICY, "policy.toml").role_of(person, action)  # type: ignore[arg-type]
    assert message in str(refused.value)


def test_every_action_is_for_exactly_one_role() -> None:
    assert set(MAY) == set(ROLES)
    for action in ACTIONS:
        assert len(roles_that_may(action)) == 1, action


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (
            '["operator", "auditor"]',
            "'X' cannot be operator and auditor: no one may check their own",
        ),
        ('["operator", "curator"]', "'X' cannot be operator and curator: a person who runs tests"),
        ('["operator", "reader"]', "'X' cannot be operator and reader: a person who drew"),
        ('["curator", "auditor"]', "'X' cannot be curator and auditor"),
        ('["boss"]', "policy.toml field 'people.1.roles.0': Input should be 'collector'"),
        ("[]", "policy.toml field 'people.1.roles': Tuple should have at least 1 item"),
    ],
)
def test_roles_that_check_each_other_are_exclusive(roles: str, message: str) -> None:
    text = f'{SAFE}[[people]]\nname = "X"\nroles = {roles}\n'
    with pytest.raises(InputError) as refused:
        parse_policy(text, "policy.toml")
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("key_custodian = ", "policy.toml: is not valid TOML"),
        ('key_custodian = "lab"\npeople = []', "'people': Tuple should have at least 1 item"),
        (
            f'{SAFE}[[people]]\nname = "X"\nroles = ["reader"]\n[reuse]\nlooks = 3',
            "policy.toml field 'reuse.looks': is unknown",
        ),
        (
            f'{SAFE}[[people]]\nname = "X"\nroles = ["reader"]\n[reuse]\nfeedback = "rounded"',
            "feedback 'rounded' needs metrics, and only it has them.",
        ),
        (
            f'{SAFE}[[people]]\nname = "X"\nroles = ["reader"]\n'
            '[[people]]\nname = "X"\nroles = ["reader"]',
            "'X' is listed more than once.",
        ),
    ],
)
def test_a_wrong_policy_is_refused_with_the_field(text: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_policy(text, "policy.toml")
    assert message in str(refused.value)


def test_without_a_word_a_developer_gets_one_evaluation_and_a_verdict() -> None:
    reuse = parse_policy(SAFE, "policy.toml").reuse
    assert (reuse.evaluations_per_developer, reuse.feedback) == (1, "verdict")


def keyed_policy(*people: tuple[str, str, int]) -> str:
    """A policy whose people have the public keys with these numbers; 0: none."""
    lines = ['key_custodian = "lab"']
    for name, role, number in people:
        line = PublicKey(bytes([number]) * 32).line + " comment" if number else ""
        lines += ["[[people]]", f'name = "{name}"', f'roles = ["{role}"]', f'key = "{line}"']
    return "\n".join(lines)


def test_a_person_may_have_a_key_whose_comment_is_left_out() -> None:
    text = keyed_policy(("Ada", "curator", 1), ("Ria", "reader", 0), ("Safe", "key_custodian", 2))
    policy = parse_policy(text, "policy.toml")
    assert [person.key for person in policy.people] == [
        PublicKey(b"\1" * 32).line,
        "",
        PublicKey(b"\2" * 32).line,
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            keyed_policy(("Ada", "curator", 1), ("Safe", "key_custodian", 1)),
            "is also another person's",
        ),
        (
            keyed_policy(("Ada", "curator", 1)),
            "no key custodian has a key: a lost key could never",
        ),
        (
            keyed_policy(("Ada", "curator", 1), ("Safe", "key_custodian", 0)),
            "no key custodian has a key",
        ),
        (keyed_policy(("Ada", "curator", 1)).replace("AAAA", "A*A"), "is not base64"),
    ],
)
def test_keys_that_cannot_be_used_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=r"policy\.toml") as refused:
        parse_policy(text, "policy.toml")
    assert message in str(refused.value)


def test_a_role_gets_the_keys_of_what_it_needs() -> None:
    assert compartments_of(["auditor"]) == ("results",)
    assert compartments_of(["operator"]) == ("reference", "images", "results")
    assert compartments_of(["curator"]) == ("reference", "archive", "images")
    assert compartments_of(["key_custodian"]) == tuple(COMPARTMENTS)
    assert compartments_of(["reader", "collector"]) == ()


def test_what_a_policy_does_not_say_is_strict() -> None:
    policy = parse_policy(POLICY, "policy.toml")
    plain = Reuse()
    assert (plain.evaluations_per_developer, plain.evaluations_in_total) == (1, None)
    assert (plain.feedback, plain.step, plain.minimum_stratum) == ("verdict", 0.01, 10)
    assert (RosterPolicy().aliases, RosterPolicy().shows_others) == ((), False)
    assert policy.notes == ""


@pytest.mark.parametrize(("length", "is_taken"), [(0, False), (1, True), (200, True), (201, False)])
def test_names_have_1_to_200_letters(length: int, is_taken: bool) -> None:
    text = SAFE.replace('"lab"', f'"{"k" * length}"')
    if is_taken:
        assert len(parse_policy(text, "policy.toml").key_custodian) == length
    else:
        with pytest.raises(InputError, match="key_custodian"):
            parse_policy(text, "policy.toml")


def test_a_policy_needs_people() -> None:
    with pytest.raises(InputError, match="people"):
        parse_policy('key_custodian = "lab"\npeople = []\n', "policy.toml")


def test_no_key_is_shown_with_a_seal() -> None:
    policy = parse_policy(POLICY, "policy.toml")
    assert repr(PolicySeal(policy)) == f"PolicySeal(policy={policy!r})"


def test_every_name_that_is_repeated_is_reported() -> None:
    person = '[[people]]\nname = "{}"\nroles = ["operator"]\n'
    text = 'key_custodian = "lab"\n' + "".join(person.format(name) for name in "XYXYZ")
    with pytest.raises(InputError) as refused:
        parse_policy(text, "policy.toml")
    for name in "XY":
        assert f"'{name}' is listed more than once" in str(refused.value)
