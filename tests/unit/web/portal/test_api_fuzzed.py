"""Whatever a program sends to the interface, it gets an answer that the description knows.

Schemathesis makes requests of the description, right ones and wrong ones; the same few every time.
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
    found = fuzz(site, as_ada, benchmark, examples=12)
    assert found.wrong == []
    assert found.requests >= 100
    assert {200, 404, 422} <= set(found.statuses)
