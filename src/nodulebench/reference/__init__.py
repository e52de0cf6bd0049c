"""Reference standards: merge the findings of readers into nodules by a rule."""
