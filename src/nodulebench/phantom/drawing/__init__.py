"""What bodies are drawn with: the canvas, tubes and trees of them, random texture."""
