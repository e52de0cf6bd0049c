"""What entries came to: leaderboards, ranks, pages, histories, certificates, use of test sets."""
