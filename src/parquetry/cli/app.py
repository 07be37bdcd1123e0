"""The application that commands register with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer

from parquetry._version import __version__
from parquetry.cli.commands import Command, Group
from parquetry.cli.options import spread

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _App(typer.Typer):
    def command(self, *arguments: Any, **options: Any) -> Callable[[_Function], _Function]:
        register = super().command(*arguments, **{"cls": Command, **options})

        def add(function: _Function) -> _Function:
            register(spread(function))
            return function

        return add


app = _App(
    name="parquetry",
    cls=Group,
    help="Show a Parquetry warehouse, its tables, partitions and files, and maintain it.",
    epilog="Example: parquetry tables --warehouse /data/lake",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(show: bool) -> None:
    if show:
        print(f"parquetry {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass
