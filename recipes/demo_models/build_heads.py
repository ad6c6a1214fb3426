"""Train draft heads for the demo target: its own text → EAGLE-3 head, Medusa heads, a sibling with MTP → files → figures."""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch
from demopair import export
from demopair.heads import eagle, files, measure, medusa, mtp, own_text, sibling, sibling_file, widen
from demopair.heads.target import read_model, read_tokenizer, states_of
from demopair.training.model import DemoLlama
from tokenizers import Tokenizer

from engine.training.eagle import EagleHead

HERE = Path(__file__).resolve().parent
SHIPPED = HERE.parents[1] / "resources" / "models"
SEED = 2026
PROMPTS = 18000
EAGLE_STEPS = 5000
WIDE_STEPS = 1250
MEDUSA_STEPS = 700
SIBLING_STEPS = 100
MTP_STEPS = 600
DRAFTED = 2048
WIDE_BATCH = 2048
"""Tokens of a batch of the wide EAGLE-3 head's."""
SHORT_BATCH = 1024
"""Tokens of a batch of the sibling's: it begins close to where it shall be, and many small steps take it there."""


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for everything that is made")
    parser.add_argument("--target", type=Path, default=SHIPPED / "demo-target.Q8_0.gguf")
    parser.add_argument("--draft", type=Path, default=SHIPPED / "demo-draft.Q8_0.gguf", help="lends its embedding")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--threads", type=int, default=1, help="part of the recipe: other numbers round otherwise")
    parser.add_argument("--prompts", type=int, default=PROMPTS, help="questions that the target answers")
    parser.add_argument("--eagle-steps", type=int, default=EAGLE_STEPS)
    parser.add_argument(
        "--wide-steps", type=int, default=WIDE_STEPS, help="of the EAGLE-3 head, when it is as wide as the target"
    )
    parser.add_argument("--medusa-steps", type=int, default=MEDUSA_STEPS)
    parser.add_argument("--sibling-steps", type=int, default=SIBLING_STEPS)
    parser.add_argument("--mtp-steps", type=int, default=MTP_STEPS)
    parser.add_argument("--measure-only", action="store_true", help="measure what is in the folder already")
    return parser.parse_args(arguments)


def train(options: argparse.Namespace) -> None:
    """Write the text, train both kinds of heads, and write their files."""
    begun, log = time.monotonic(), dict[str, Any]()
    target, words = read_model(options.target), read_tokenizer(options.target)
    asked = own_text.prompts(words, options.seed, options.prompts)
    text = list(own_text.write_replies(target, words, asked, options.seed))
    written = sum(len(ids) - length for ids, length in text)
    print(f"{len(text)} replies, {written} tokens, {time.monotonic() - begun:.0f} s", flush=True)
    batches = own_text.make_batches(partial(states_of, target), words, text)
    print(f"{len(batches)} batches, {time.monotonic() - begun:.0f} s", flush=True)
    torch.manual_seed(options.seed)
    small = EagleHead(eagle.NARROW_SHAPE, 3 * target.shape.width, eagle.likeliest_tokens(batches, DRAFTED))
    eagle.begin_with(small, read_model(options.draft))
    log["eagle3"] = eagle.train_eagle(small, target, batches, eagle.HeadConfig(options.eagle_steps, options.seed))
    folders = options.out / "transformers"
    export.write_transformers(target, words, folders / "demo-target")
    heads = medusa.MedusaHeads(target)
    heads.begin_with(target, batches)
    log["medusa"] = medusa.train_medusa(heads, target, batches, eagle.HeadConfig(options.medusa_steps, options.seed))
    files.write_medusa_folder(heads, folders / "demo-medusa")
    batches = own_text.make_batches(partial(states_of, target), words, text, WIDE_BATCH, earlier=True)
    head, gently = (
        widen.widen(small, eagle.HEAD_SHAPE),
        eagle.HeadConfig(options.wide_steps, options.seed, 0.007, 0.0007),
    )
    log["eagle3 wide"] = eagle.train_eagle(head, target, batches, gently)
    files.write_eagle_gguf(head, words, options.out / "demo-head.Q8_0.gguf", target.shape.width)
    files.write_eagle_folder(head, folders / "demo-eagle3", target.shape.width)
    del batches
    log |= train_sibling(options, target, words, text)
    report = {"replies": len(text), "tokens": written, "seconds": round(time.monotonic() - begun), "log": log}
    (options.out / "training.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def train_sibling(
    options: argparse.Namespace, target: DemoLlama, words: Tokenizer, text: list[tuple[list[int], int]]
) -> dict[str, Any]:
    """Train the sibling on the target's outputs, and its later-token layer on the sibling's; write the file."""
    batches = own_text.make_batches(partial(states_of, target), words, text, SHORT_BATCH)
    model = sibling.SiblingModel(target.shape)
    model.begin_with(target, batches[len(batches) // 2].ids)
    taught = eagle.HeadConfig(options.sibling_steps, options.seed)
    log = {"sibling": sibling.train_sibling(model, target, batches, taught)}
    batches = own_text.make_batches(model, words, text, SHORT_BATCH)
    layer = mtp.MtpLayer(model)
    layer.begin_with(model, batches)
    log["mtp"] = mtp.train_mtp(layer, model, batches, eagle.HeadConfig(options.mtp_steps, options.seed))
    sibling_file.write_sibling(model, layer, words, options.out / "demo-mtp.Q8_0.gguf")
    return log


def main(arguments: list[str]) -> int:
    """Train and measure; 0 when done, 2 when a model or the folder cannot be used."""
    options = parse(arguments)
    missing = [path for path in (options.target, options.draft) if not path.is_file()]
    if missing:
        print(f"There is no file {missing[0]}. Name the demo models with --target and --draft.", file=sys.stderr)
        return 2
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"The folder {options.out} cannot be made: {error.strerror}. Choose another with --out.", file=sys.stderr)
        return 2
    torch.set_num_threads(options.threads)
    if not options.measure_only:
        train(options)
    rows = measure.measure(options.out, options.target, options.draft, HERE / "heldout.json")
    (options.out / "figures.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(measure.table(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
