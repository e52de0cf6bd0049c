"""Every request to the API gets an answer that its description contains.

Schemathesis makes valid and invalid requests from the description, always the same few.
The long campaign is benchmarks/portal_fuzzed.py.
"""

import pytest

pytest.importorskip("schemathesis")
pytestmark = pytest.mark.slow

from builders.fuzzed_api import fuzz
from builders.portal import Browser
from nodulebench.web.portal.site import Site


@pytest.mark.filterwarnings("ignore")
def test_no_request_breaks_the_interface(site: Site, as_ada: Browser, benchmark: str) -> None:
    findings = fuzz(site, as_ada, benchmark, examples=12)
    assert findings.wrong == []
    assert findings.requests >= 100
    assert {200, 404, 422} <= set(findings.statuses)
