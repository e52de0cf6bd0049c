"""Run untrusted algorithms on test sets, isolated and measured."""
