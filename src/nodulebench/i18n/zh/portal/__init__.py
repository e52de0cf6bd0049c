"""The words of the portal in Chinese."""
