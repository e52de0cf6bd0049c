"""NoduleBench: a test laboratory for computer-aided detection of pulmonary nodules in CT."""

__version__ = "0.1.0"
