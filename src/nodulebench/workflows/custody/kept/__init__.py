"""What is kept of looks: its form, and studies and reports that are made of it."""
