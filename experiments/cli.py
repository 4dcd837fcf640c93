"""The `selforg` command."""

import tyro

from experiments.doctor import doctor

COMMANDS = {"doctor": doctor}


def main() -> None:
    """Run one subcommand of `selforg`."""
    tyro.extras.subcommand_cli_from_dict(COMMANDS, prog="selforg")
