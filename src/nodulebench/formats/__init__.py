"""Outside formats, one file each: what they hold becomes our tables, and back."""
