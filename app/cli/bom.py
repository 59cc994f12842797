"""The option `--bom` of commands that print CSV."""

import click

bom_option = click.option(
    "--bom", is_flag=True, help="Start CSV with a byte-order mark, for Excel."
)


def check_bom(form: str, *, bom: bool) -> None:
    """Check that a byte-order mark is only asked for with CSV.

    Raises: UsageError.
    """
    if bom and form != "csv":
        raise click.UsageError("--bom is for --format csv only")
