"""Requests that Schemathesis makes of the interface's own description, and what came of them."""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

import hypothesis
import schemathesis
from schemathesis import GenerationMode
from schemathesis.core.result import Ok

from builders.portal import Browser
from nodulebench.web.client import API
from nodulebench.web.portal.app import make_app
from nodulebench.web.portal.site import Site

SEED = 16


@dataclass
class Fuzzed:
    """What came of a campaign."""

    requests: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    """Requests that were answered by 5xx, or by what the description does not know."""


def token_of(browser: Browser) -> str:
    """A new token of who is signed in."""
    page = browser.post("/account/tokens", "/account", name="script").text
    return page.split('<p class="secret"><code>')[1].split("<")[0]


def fuzz(site: Site, browser: Browser, benchmark: str, examples: int) -> Fuzzed:
    """Send requests to every route, with guessed ids and with a real one, by a participant."""
    schema = schemathesis.openapi.from_asgi(f"{API}/openapi.json", make_app(site))
    headers = {"Authorization": f"Bearer {token_of(browser)}"}
    fuzzed = Fuzzed()
    for result in schema.get_all_operations():
        assert isinstance(result, Ok)
        operation = result.ok()
        is_of_a_benchmark = "{benchmark_id}" in operation.path
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            for known in ({}, {"benchmark_id": benchmark}) if is_of_a_benchmark else ({},):
                strategy = operation.as_strategy(
                    generation_mode=mode, headers=headers, path_parameters=known or None
                )
                _try(strategy, examples, fuzzed)
    return fuzzed


def _try(strategy: hypothesis.strategies.SearchStrategy, examples: int, fuzzed: Fuzzed) -> None:
    @hypothesis.seed(SEED)
    @hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate],
    )
    @hypothesis.given(strategy)
    def one(case: schemathesis.Case) -> None:
        answer = case.call()
        fuzzed.requests += 1
        fuzzed.statuses[answer.status_code] += 1
        known = {str(response) for response in case.operation.definition.raw["responses"]}
        if answer.status_code >= 500 or str(answer.status_code) not in known | {"400", "405"}:
            fuzzed.wrong.append(f"{answer.status_code} {case.as_curl_command()[:300]}")

    with suppress(hypothesis.errors.Unsatisfiable):  # nothing about it can be wrong
        one()
