from typing import final

@final
class Memory: ...

def compile_program(numbers: bytes, names: bytes, /) -> object: ...
def read_records(
    program: object,
    offsets: object,
    data: object | None,
    validity: object | None,
    first: int,
    count: int,
    /,
) -> tuple[list[tuple[int, Memory | None, Memory | None, Memory | None]], bytes, list[tuple[int, bytes]]]: ...
