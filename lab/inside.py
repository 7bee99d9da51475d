"""Commands inside a node's container, without ssh: for what must work before and beside it."""

from docker.models.containers import Container


def answer(container: Container, *command: str) -> tuple[int, str]:
    """Run a command in a node and return its exit code and its output."""
    result = container.exec_run(list(command))
    output = result.output if isinstance(result.output, bytes) else b"".join(result.output)
    return result.exit_code or 0, output.decode(errors="replace").strip()
