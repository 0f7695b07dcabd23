from typing_extensions import Buffer

def decode(
    program: Buffer,
    blob: bytes,
    validity: Buffer,
    ends: Buffer,
    data: Buffer,
    first: int,
    count: int,
    skip: int,
) -> tuple[object, list[tuple[int, int, tuple[int, int], tuple[int, int], tuple[int, int]]], bytes]: ...
