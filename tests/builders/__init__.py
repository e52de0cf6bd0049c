"""What tests build their inputs with."""
