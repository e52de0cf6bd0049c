"""The CT viewer in the browser: shows scans and saves what a reader draws in them."""
