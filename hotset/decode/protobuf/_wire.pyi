from typing import final

from typing_extensions import Buffer

@final
class Memory: ...

def decode(
    numbers: Buffer,
    blob: bytes,
    skip: int,
    offsets: object,
    data: object | None,
    validity: object | None,
    first: int,
    count: int,
    /,
) -> tuple[list[tuple[int, Memory | None, Memory | None, Memory | None]], bytes]: ...
