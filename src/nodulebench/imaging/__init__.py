"""What pixels, millimetres and outlines are: geometry below every stage and format."""
