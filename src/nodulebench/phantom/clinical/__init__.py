"""What clinics see beside healthy people: diseased lung, bulging surfaces, motion, streaks."""
