"""An option that names the columns to group by."""

import click


class Columns(click.ParamType[tuple[str, ...]]):
    """Names of columns to group by, separated by commas; at most one of `day` and `hour`."""

    name = "columns"

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def convert(
        self,
        value: str | tuple[str, ...],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[str, ...]:
        """Return the names in their order, without duplicates."""
        if isinstance(value, tuple):
            return value
        names = tuple(dict.fromkeys(name.strip() for name in value.split(",")))
        for name in names:
            if name not in self.names:
                known = ", ".join(self.names)
                self.fail(f"unknown column {name!r}. Columns are {known}", param, ctx)
        if "day" in names and "hour" in names:
            self.fail("use either `day` or `hour`: `hour` includes the day", param, ctx)
        return names
