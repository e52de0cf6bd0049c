"""A chest without its nodules: surfaces, organs, bones, wall and lungs."""
