"""Run `connect`: print other programs' settings for the local server, write them, and try them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from engine.cli.cancellable import EXIT_DONE
from engine.cli.common import read_text
from engine.connect.programs import PROGRAMS, OtherProgram, ServerPlace
from engine.connect.round_trip import ask_as_program
from engine.errors import EngineError, InvalidRequest
from engine.remote.address import read_address
from engine.remote.connect import find_server

_USUAL = "http://127.0.0.1:8642"
_ANY_MODEL = "outrider"
"""The name where nobody says one: of one model alone any name is meant."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `connect`."""
    add = parser.add_argument
    names = ", ".join(program.name for program in PROGRAMS)
    add("programs", nargs="*", metavar="PROGRAM", help=f"{names} (default: those found on this computer)")
    add("--url", default=_USUAL, metavar="U", help=f"address of the server (default: {_USUAL})")
    add("--model", metavar="M", help="name of the model (default: the server's, if it runs)")
    add("--api-key-file", type=Path, metavar="F", help="file with the server's key")
    add("--write", action="store_true", help="write it into the programs' settings; the old ones are kept beside them")
    add("--test", action="store_true", help="ask the server as each of the programs would")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print each program's settings; with --write write them, with --test try them."""
    if args.write and not args.programs:
        raise InvalidRequest("Name the programs whose settings are to be written.")
    chosen = _chosen(args.programs)
    place = _place(args)
    failed = False
    for number, program in enumerate(chosen):
        sys.stdout.write("\n" if number else "")
        _show(program, place)
        if args.write:
            _write(program, place)
        if args.test:
            failed |= not _tested(program, place)
    if failed:
        raise InvalidRequest(
            f"The server at {place.root} did not answer every program. Start it: outrider-engine serve"
        )
    return EXIT_DONE


def _chosen(names: list[str]) -> list[OtherProgram]:
    known = {program.name: program for program in PROGRAMS}
    if wrong := [name for name in names if name not in known]:
        raise InvalidRequest(f"There is no program {wrong[0]!r} here. There is: {', '.join(known)}.")
    found = [known[name] for name in dict.fromkeys(names)] or [program for program in PROGRAMS if program.found]
    if not found:
        raise InvalidRequest(f"None of the programs was found. Name some: {', '.join(known)}.")
    return found


def _place(args: argparse.Namespace) -> ServerPlace:
    """Return the server's address, and the model: its own where it runs and has one alone, or any name."""
    root, key = read_address(args.url).root, ""
    if args.api_key_file is not None:
        key = read_text(args.api_key_file).strip()
    model = args.model
    if model is None:
        try:
            models = find_server(root, key=key).models
        except EngineError:
            models = ()
        if len(models) > 1:
            raise InvalidRequest(f"The server has several models. Choose one with --model: {', '.join(models[:20])}.")
        model = models[0] if models else _ANY_MODEL
    if not model.isprintable() or '"' in model or "'" in model:
        raise InvalidRequest("The name of a model must be one line without quotes.")
    if not key.isprintable() or '"' in key or "'" in key:
        raise InvalidRequest("The key must be one line without quotes.")
    return ServerPlace(root, model, key)


def _show(program: OtherProgram, place: ServerPlace) -> None:
    where = "" if program.file is None else f" ({program.file()})"
    sys.stdout.write(f"{program.title}{where}:\n\n")
    sys.stdout.write("".join(f"    {line}".rstrip() + "\n" for line in program.text(place).splitlines()))
    if program.note:
        sys.stdout.write(f"\n{program.note}\n")


def _write(program: OtherProgram, place: ServerPlace) -> None:
    if program.written is None:
        sys.stderr.write(f"outrider-engine: {program.title}: nothing was written, enter it by hand.\n")
        return
    path, copy = program.write(place)
    kept = f"; what was there is in {copy}" if copy is not None else ""
    sys.stderr.write(f"outrider-engine: {program.title}: written to {path}{kept}.\n")


def _tested(program: OtherProgram, place: ServerPlace) -> bool:
    try:
        answer = ask_as_program(place, program.interface)
    except EngineError as error:
        sys.stderr.write(f"outrider-engine: {program.title}: {error}\n")
        return False
    said = " ".join(answer.text.split()) or "(nothing)"
    sys.stderr.write(f"outrider-engine: {program.title}: {answer.model} answered in {answer.seconds:.1f} s: {said}\n")
    return True
