"""Build the bundled demo pair: corpus → tokenizer → target → draft → GGUF and transformers folders → evaluation."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import torch
from demopair import evaluate, export, tokenizer, train
from demopair.card import write_card
from demopair.model import DRAFT_SHAPE, TARGET_SHAPE, DemoLlama
from tokenizers import Tokenizer

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SEED = 2026
TARGET_STEPS = 2500
DRAFT_STEPS = 1600
DISTIL_STEPS = 500
DISTIL_SHARE = 0.8
STAGES = ("tokenizer", "target", "draft", "export", "evaluate")
DESCRIPTIONS = {
    "target": "Small English chat model, trained by the Outrider project on text from its own grammars.",
    "draft": "The draft for Outrider's demo target: same vocabulary, a tenth of the size.",
}


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for everything that is made")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--threads", type=int, default=2, help="part of the recipe: other numbers round otherwise")
    parser.add_argument("--target-steps", type=int, default=TARGET_STEPS)
    parser.add_argument("--draft-steps", type=int, default=DRAFT_STEPS)
    parser.add_argument(
        "--from", dest="start", choices=STAGES, default=STAGES[0], help="skip the stages before this one"
    )
    parser.add_argument("--starters", type=Path, default=ROOT / "resources" / "starter_prompts.json")
    return parser.parse_args(arguments)


def train_target(options: argparse.Namespace, words: Tokenizer) -> DemoLlama:
    config = train.TrainConfig(steps=options.target_steps, seed=options.seed)
    return train.train(TARGET_SHAPE, words, config, options.out / "target")


def train_draft(options: argparse.Namespace, words: Tokenizer) -> DemoLlama:
    """First the corpus, at a level rate; then, while the rate falls, what the target would say: that is its task."""
    first = train.TrainConfig(options.draft_steps, options.seed + 1, decay_share=0.0, adam_lr=0.006)
    begun = train.train(DRAFT_SHAPE, words, first, options.out / "draft-first")
    second = train.TrainConfig(
        options.distil_steps, options.seed + 2, decay_share=1.0, adam_lr=0.006, distil=DISTIL_SHARE
    )
    teacher = train.load(options.out / "target")
    return train.train(DRAFT_SHAPE, words, second, options.out / "draft", teacher, begun)


def export_pair(options: argparse.Namespace, words: Tokenizer) -> None:
    """Both models as GGUF (Q8_0) and as transformers folders."""
    for role in ("target", "draft"):
        model = train.load(options.out / role)
        path = options.out / f"demo-{role}.Q8_0.gguf"
        export.write_gguf(model, words, path, f"Outrider demo {role}", DESCRIPTIONS[role])
        export.write_transformers(model, words, options.out / "transformers" / f"demo-{role}")


def evaluate_pair(options: argparse.Namespace) -> None:
    """Replies, figures and the model card."""
    report = evaluate.evaluate(options.out, HERE / "heldout.json", options.starters)
    (options.out / "evaluation.json").write_text(
        json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    write_card(options.out, report)
    for category, figures in report["categories"].items():
        print(
            f"{category:20} acceptance rate {figures['acceptance_rate']:.3f}, ended {figures['ended']}/{figures['prompts']}"
        )


def main(arguments: list[str]) -> int:
    """Run the stages; 0 when done, 2 when the folder cannot be used."""
    options = parse(arguments)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"The folder {options.out} cannot be made: {error.strerror}. Choose another with --out.", file=sys.stderr)
        return 2
    torch.set_num_threads(options.threads)
    wanted = STAGES[STAGES.index(options.start) :]
    if wanted[0] != "tokenizer" and not (options.out / "tokenizer.json").exists():
        print(f"There is no tokenizer.json in {options.out}; begin with --from tokenizer.", file=sys.stderr)
        return 2
    times_file = options.out / "times.json"
    times: dict[str, float] = json.loads(times_file.read_text(encoding="utf-8")) if times_file.exists() else {}
    for stage in wanted:
        begun = time.monotonic()
        print(f"{stage} …", flush=True)
        if stage == "tokenizer":
            tokenizer.save(tokenizer.train_tokenizer(options.seed), options.out)
        words = tokenizer.load(options.out)
        if stage == "target":
            train_target(options, words)
        elif stage == "draft":
            train_draft(options, words)
        elif stage == "export":
            export_pair(options, words)
        elif stage == "evaluate":
            evaluate_pair(options)
        times[stage] = round(time.monotonic() - begun, 1)
        times_file.write_text(json.dumps(times), encoding="utf-8")
        print(f"{stage}: {times[stage]} s", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
