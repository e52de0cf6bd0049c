"""What a test shall show -> how many nodules, cases or readers it needs."""
