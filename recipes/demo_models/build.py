"""Build the bundled demo pair: corpus → tokenizer → seedling → target → draft → export → evaluation."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import torch
from demopair import evaluate, export
from demopair.card import write_card
from demopair.training import grow, tokenizer, train
from demopair.training.model import DRAFT_SHAPE, TARGET_SHAPE, DemoLlama
from tokenizers import Tokenizer

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SEED = 2026
FIRST_STEPS = 1600
DRILL_STEPS = 800
TARGET_STEPS = 1000
POLISH_STEPS = 400
DRAFT_STEPS = 400
DISTIL_SHARE = 0.8
BLEND = 0.12
STAGES = ("tokenizer", "seedling", "target", "draft", "export", "evaluate")
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
    parser.add_argument("--first-steps", type=int, default=FIRST_STEPS, help="seedling, on the corpus")
    parser.add_argument("--drill-steps", type=int, default=DRILL_STEPS, help="seedling, with drills in copying")
    parser.add_argument("--target-steps", type=int, default=TARGET_STEPS)
    parser.add_argument("--polish-steps", type=int, default=POLISH_STEPS, help="target, once more at a lower rate")
    parser.add_argument("--draft-steps", type=int, default=DRAFT_STEPS)
    parser.add_argument(
        "--from", dest="start", choices=STAGES, default=STAGES[0], help="skip the stages before this one"
    )
    parser.add_argument("--starters", type=Path, default=ROOT / "resources" / "starter_prompts.json")
    return parser.parse_args(arguments)


def train_seedling(options: argparse.Namespace, words: Tokenizer) -> DemoLlama:
    """A model of the draft's size: first the corpus, then drills until it can copy from the prompt."""
    first = train.TrainConfig(options.first_steps, options.seed + 1, decay_share=0.0, adam_lr=0.006)
    begun = train.train(DRAFT_SHAPE, words, first, options.out / "seedling-first")
    second = train.TrainConfig(
        options.drill_steps, options.seed + 1001, decay_share=0.0, adam_lr=0.006, drill_share=0.6, warmup=20
    )
    return train.train(DRAFT_SHAPE, words, second, options.out / "seedling", begin_with=begun)


def train_target(options: argparse.Namespace, words: Tokenizer) -> DemoLlama:
    """The target grows out of the seedling: alone, a model of its size learns to copy far more slowly."""
    begun = grow.grow(train.load(options.out / "seedling"), TARGET_SHAPE, options.seed + 2000)
    first = train.TrainConfig(
        options.target_steps, options.seed + 2000, decay_share=0.8, drill_share=0.2, long_share=0.02, warmup=20
    )
    begun = train.train(TARGET_SHAPE, words, first, options.out / "target-first", begin_with=begun)
    second = train.TrainConfig(
        options.polish_steps,
        options.seed + 3000,
        muon_lr=0.012,
        adam_lr=0.003,
        decay_share=1.0,
        drill_share=0.25,
        long_share=0.02,
        warmup=20,
    )
    return train.train(TARGET_SHAPE, words, second, options.out / "target", begin_with=begun)


def train_draft(options: argparse.Namespace, words: Tokenizer) -> DemoLlama:
    """Train the draft from the seedling on the target's own replies."""
    config = train.TrainConfig(
        options.draft_steps,
        options.seed + 2001,
        decay_share=1.0,
        adam_lr=0.006,
        drill_share=0.1,
        warmup=20,
        distil=DISTIL_SHARE,
    )
    teacher, begun = train.load(options.out / "target-first"), train.load(options.out / "seedling")
    taught = train.train(DRAFT_SHAPE, words, config, options.out / "draft-taught", teacher, begun)
    # Fully taught it guesses some replies without a miss, and a demo that never misses shows nothing.
    draft = grow.blend(train.load(options.out / "seedling"), taught, BLEND)
    train.save(draft, options.out / "draft")
    return draft


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
        if stage == "seedling":
            train_seedling(options, words)
        elif stage == "target":
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
