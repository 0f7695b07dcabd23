from typing import final

@final
class Memory: ...

def compile_program(
    steps: bytes, shapes: bytes, lists: bytes, sizes: bytes, constants: bytes, /
) -> object: ...
def run_program(
    program: object,
    offsets: object,
    data: object | None,
    validity: object | None,
    first: int,
    count: int,
    /,
) -> tuple[list[tuple[int, Memory | None, Memory | None, Memory | None]], bytes]: ...
