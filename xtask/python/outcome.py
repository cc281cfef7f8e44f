"""What a part of the comparisons says at its end, in the form that `cargo xtask conformance` makes its table of."""


def compared(package: str, cases: int, values: int, differ: int) -> int:
    """Prints how much was compared with a package; the exit code."""
    print(f"compared with {package}: {cases} cases, {values} values, {differ} differ", flush=True)
    return int(differ > 0)
