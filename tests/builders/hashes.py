"""Two perceptual hashes -> how alike they are, asked as a set of known scans is asked."""

from nodulebench.curation.perceptual_hash import HashList, PerceptualHash


def similarity(first: PerceptualHash, other: PerceptualHash) -> float:
    """The share of equal bits at the shift along the body that fits best."""
    hashes = HashList()
    hashes.add(other)
    return float(hashes.similarities(first)[0])
