"""Who may do what with which key at each event of a log, and who signs for whom."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from nodulebench.core.errors import InputError
from nodulebench.custody.events import Event, PolicySeal, Step, next_event, policy_after, refusal
from nodulebench.custody.policy import CustodyPolicy, Person, Role
from nodulebench.security.events import Fact
from nodulebench.security.keys import PrivateKey, new_person_key, read_private_key
from nodulebench.security.signatures import signature_code

Keys = Mapping[str, PrivateKey]
ROLES: dict[str, Role] = {"Ada": "curator", "Bo": "operator", "Kim": "key_custodian"}


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    folder = tmp_path_factory.mktemp("keys")
    for name in (*ROLES, "New", "Signer"):
        new_person_key(folder / name)
    return {name: read_private_key(folder / name) for name in (*ROLES, "New", "Signer")}


def policy_of(keys: Keys) -> CustodyPolicy:
    people = tuple(
        Person(name=name, roles=(role,), key=keys[name].public.line) for name, role in ROLES.items()
    )
    return CustodyPolicy(key_custodian="lab", people=people)


def event(number: int, person: str, step: Step, role: Role | None = None, **facts: Fact) -> Event:
    return Event(
        number=number,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        person=person,
        role=role or ROLES.get(person),
        step=step,
        facts=facts,
        previous="sha256:0",
    )


def checked(seal: PolicySeal, checked_event: Event, key: PrivateKey) -> str:
    """What is wrong with an event that a person signed."""
    content = checked_event.unsigned_bytes
    return seal.wrong(content, signature_code(content, key), checked_event.person)


def test_everybody_signs_what_their_role_allows(keys: Keys) -> None:
    seal = PolicySeal(policy_of(keys))
    log = [
        ("Ada", event(1, "Ada", "sealed")),
        ("Bo", event(2, "Bo", "evaluation_charged")),
        ("Bo", event(3, "Bo", "refused")),
        ("Kim", event(4, "Kim", "revoked", subject="Ada")),
    ]
    assert [checked(seal, entry, keys[person]) for person, entry in log] == ["", "", "", ""]
    now = seal.policy_now()
    assert now is not None
    assert [bool(person.key) for person in now.people] == [False, True, True]
    assert [person.name for person in now.people] == list(ROLES)


@pytest.mark.parametrize(
    ("refused_event", "signer", "message"),
    [
        (
            event(1, "Bo", "evaluation_charged"),
            "Ada",
            "was not signed with the key of 'Bo' at that point",
        ),
        (
            event(1, "Eve", "evaluation_charged"),
            "Bo",
            "names 'Eve', who had no valid key at that point",
        ),
        (
            event(1, "Bo", "evaluation_charged", "curator"),
            "Bo",
            "names 'Bo' as curator; the policy",
        ),
        (event(1, "Bo", "exported"), "Bo", "was written by 'Bo', who may not export."),
        (
            event(1, "Ada", "evaluation_charged"),
            "Ada",
            "was written by 'Ada', who may not evaluate.",
        ),
        (event(1, "Bo", "rotated", subject="Ada"), "Bo", "'Bo', who may not manage."),
        (
            event(1, "Kim", "revoked", subject="Eve"),
            "Kim",
            "breaks the rules of the policy: the policy does not know 'Eve'.",
        ),
        (
            event(1, "Kim", "revoked", subject="Kim"),
            "Kim",
            "breaks the rules of the policy: no key custodian has a key",
        ),
        (
            event(1, "Kim", "admitted", subject="New", roles="operator, auditor"),
            "Kim",
            "breaks the rules of the policy: 'New' cannot be operator and auditor",
        ),
    ],
)
def test_what_a_person_may_not_do_is_reported(
    refused_event: Event, signer: str, message: str, keys: Keys
) -> None:
    seal = PolicySeal(policy_of(keys))
    assert message in checked(seal, refused_event, keys[signer])
    assert seal.policy_now() == policy_of(keys)


def test_two_people_have_two_keys(keys: Keys) -> None:
    seal = PolicySeal(policy_of(keys))
    line = keys["Bo"].public.line
    event_ = event(1, "Kim", "admitted", subject="New", roles="auditor", key=line)
    assert "the key of 'Bo' is also another person's" in checked(seal, event_, keys["Kim"])


def test_a_key_counts_from_its_event_on_and_an_older_one_no_more(keys: Keys) -> None:
    seal = PolicySeal(policy_of(keys))
    assert checked(seal, event(1, "Bo", "evaluation_charged"), keys["Bo"]) == ""
    line = keys["New"].public.line
    assert checked(seal, event(2, "Bo", "rotated", subject="Bo", key=line), keys["Bo"]) == ""
    assert "was not signed with the key" in checked(
        seal, event(3, "Bo", "evaluation_charged"), keys["Bo"]
    )
    assert checked(seal, event(3, "Bo", "evaluation_charged"), keys["New"]) == ""
    assert checked(seal, event(4, "Kim", "revoked", subject="Bo"), keys["Kim"]) == ""
    assert "who had no valid key at that point" in checked(
        seal, event(5, "Bo", "evaluation_charged"), keys["New"]
    )
    # what was checked before is checked with what stood before it
    assert checked(seal, event(1, "Bo", "evaluation_charged"), keys["Bo"]) == ""
    assert "was not signed with the key" in checked(
        seal, event(2, "Bo", "evaluation_charged"), keys["New"]
    )


def test_who_was_admitted_may_what_their_roles_allow(keys: Keys) -> None:
    seal = PolicySeal(policy_of(keys))
    line = keys["New"].public.line
    event_ = event(1, "Kim", "admitted", subject="New", roles="auditor, reader", key=line)
    assert checked(seal, event_, keys["Kim"]) == ""
    assert checked(seal, event(2, "New", "inspected", "auditor"), keys["New"]) == ""
    assert "may not evaluate" in checked(
        seal, event(3, "New", "evaluation_charged", "auditor"), keys["New"]
    )
    assert "names 'New' as key_custodian" in checked(
        seal, event(3, "New", "revoked", "key_custodian"), keys["New"]
    )


def head(events: int) -> bytes:
    return json.dumps({"events": events, "last": "sha256:1"}).encode()


def test_a_head_is_signed_by_a_person_who_had_a_key_before_or_after_its_last_event(
    keys: Keys,
) -> None:
    seal = PolicySeal(policy_of(keys))
    assert checked(seal, event(1, "Ada", "sealed"), keys["Ada"]) == ""
    line = keys["New"].public.line
    assert checked(seal, event(2, "Bo", "rotated", subject="Bo", key=line), keys["Bo"]) == ""
    assert checked(seal, event(3, "Ada", "exported"), keys["Ada"]) == ""
    for events, old, new in ((1, True, False), (2, True, True), (3, False, True)):
        for name, is_good in (("Bo", old), ("New", new)):
            content = head(events)
            wrong = seal.wrong(content, signature_code(content, keys[name]), "Bo")
            assert (wrong == "") is is_good
            writer = PolicySeal(seal.policy, keys[name], _after=dict(seal._after))
            if is_good:
                assert writer.make(content, "Bo")
            else:
                assert "was not signed with the key of 'Bo' at that point" in wrong
                with pytest.raises(InputError, match="is not the key of 'Bo'"):
                    writer.make(content, "Bo")


def test_no_one_signs_in_the_name_of_another(keys: Keys) -> None:
    content = event(1, "Bo", "evaluation_charged").unsigned_bytes
    code = PolicySeal(policy_of(keys), keys["Bo"]).make(content, "Bo")
    assert PolicySeal(policy_of(keys)).wrong(content, code, "Bo") == ""
    for key in (None, keys["Ada"], keys["New"]):
        with pytest.raises(
            InputError, match="key: is not the key of 'Bo' and cannot sign for them"
        ):
            PolicySeal(policy_of(keys), key).make(content, "Bo")


def test_a_changed_event_is_reported_though_it_held_before(keys: Keys) -> None:
    seal = PolicySeal(policy_of(keys))
    event_, other = event(1, "Bo", "evaluation_charged"), event(1, "Bo", "failed")
    code = signature_code(event_.unsigned_bytes, keys["Bo"])
    for _ in range(2):
        assert seal.wrong(event_.unsigned_bytes, code, "Bo") == ""
        assert "was changed" in seal.wrong(other.unsigned_bytes, code, "Bo")


def test_an_event_leaves_the_policy_as_it_was_unless_it_is_about_people(keys: Keys) -> None:
    policy = policy_of(keys)
    assert policy_after(policy, "evaluation_charged", {"subject": "Bo"}) is policy
    changed = policy_after(policy, "revoked", {"subject": "Bo"})
    assert (changed.key_custodian, changed.reuse) == (policy.key_custodian, policy.reuse)
    assert {person.name: (person.roles, bool(person.key)) for person in changed.people} == {
        "Ada": (("curator",), True),
        "Bo": (("operator",), False),
        "Kim": (("key_custodian",), True),
    }
    again = policy_after(changed, "rotated", {"subject": "Bo", "key": keys["New"].public.line})
    assert (
        next(person.key for person in again.people if person.name == "Bo")
        == keys["New"].public.line
    )
    assert refusal(policy, event(1, "Bo", "rotated", subject="Bo")) == ""
    assert refusal(policy, event(1, "Kim", "rotated", subject="Bo")) == ""


def test_the_next_event_follows_the_last(keys: Keys) -> None:
    seal = PolicySeal(policy_of(keys), keys["Bo"])
    at = datetime(2026, 1, 1, tzinfo=UTC)
    statement = {
        "step": "evaluation_charged",
        "role": "operator",
        "person": "Bo",
        "at": at,
        "facts": {},
    }
    first = next_event([], bundle="sha256:b", seal=seal, **statement)  # type: ignore[arg-type]
    second = next_event([first], bundle="sha256:b", seal=seal, **statement)  # type: ignore[arg-type]
    assert (first.number, first.previous) == (1, "sha256:b")
    assert (second.number, second.previous) == (2, first.digest)
    for changed in (first, second):
        assert seal.wrong(changed.unsigned_bytes, changed.code, "Bo") == ""


def test_what_was_wrong_once_is_wrong_again(keys: Keys) -> None:
    seal = PolicySeal(policy_of(keys))
    for _ in range(2):
        wrong = checked(seal, event(1, "Ada", "evaluation_charged"), keys["Ada"])
        assert wrong == "was written by 'Ada', who may not evaluate."
    assert checked(seal, event(1, "Ada", "sealed"), keys["Ada"]) == ""


def test_another_first_event_is_checked_by_the_policy_before_it(keys: Keys) -> None:
    seal = PolicySeal(policy_of(keys))
    line = keys["New"].public.line
    rotated = event(1, "Kim", "rotated", subject="Ada", key=line)
    assert checked(seal, rotated, keys["Kim"]) == ""
    assert checked(seal, event(1, "Ada", "sealed"), keys["Ada"]) == ""


def test_no_key_is_shown_where_a_seal_is(keys: Keys) -> None:
    seal = PolicySeal(policy_of(keys), key=keys["Bo"])
    assert checked(seal, event(1, "Ada", "sealed"), keys["Ada"]) == ""
    for name in ("PrivateKey", "_after=", "_held="):
        assert name not in repr(seal)
