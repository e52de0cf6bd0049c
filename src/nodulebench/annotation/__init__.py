"""Annotation projects: people, their readings and the workflow that turns these into nodules."""
