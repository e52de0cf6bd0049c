"""Readers without their names: a letter for each, which nobody can work out who knows the names."""

import hashlib

from nodulebench.annotation.workflow.batch import Batch

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def letter_of(batch: Batch, reader_id: str) -> str:
    """By which letter a reader of a batch is shown; drawn with what the first one handed in."""

    def drawn(name: str) -> bytes:
        secret = batch.seeds[0] if batch.seeds else ""
        return hashlib.sha256(f"{secret} {batch.order.batch_id} {name}".encode()).digest()

    return LETTERS[sorted(batch.reader_ids, key=drawn).index(reader_id)]
