"""The words of the portal in English."""
