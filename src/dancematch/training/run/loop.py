"""A training run: steps, checks on dances kept apart, and checkpoints to go on from exactly.

A run's folder holds `config.json` (usable as a config file), `log.csv` and `log.jsonl`,
`curves.png`, `checkpoints/` and, at the end, `model/`. A run that was stopped, in whatever way,
and taken up again ends with the same numbers as one that was not.
"""

import hashlib
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from dancematch.errors import InputError, ModelError
from dancematch.model.quantiser import perplexity, usage
from dancematch.training.data.batches import BatchSampler, TrainingSet
from dancematch.training.data.files import TrainingTrack
from dancematch.training.network.learner import Learner, sample_crops
from dancematch.training.network.losses import total
from dancematch.training.recipe import TrainingPlan, TrainingRecipe
from dancematch.training.run.checkpoint import load_state, save_state
from dancematch.training.run.curves import draw_curves
from dancematch.training.run.folder import latest_checkpoint, lock_run, record_start
from dancematch.training.run.log import Row, RunLog

CHECK_BATCHES = 4
CHECK_PATCHES = 4096  # whose words are counted
RISE = 0.1  # share of a one-cycle's steps in which the learning rate rises
FIRST, LAST = 1 / 25, 1e-4  # where a one-cycle begins and ends, as shares of its height


@dataclass(frozen=True)
class StepReport:
    """What a step tells whoever watches."""

    step: int
    losses: Row
    checked: Row | None = None  # the log's new row, after a check


def learning_rate(recipe: TrainingRecipe, step: int) -> float:
    """The rate of a step, counted from 1: a plain function, so that there is nothing to save."""
    if recipe.schedule == "constant":
        return recipe.learning_rate
    rise = max(1.0, RISE * recipe.steps)
    if step <= rise:
        return recipe.learning_rate * (FIRST + (1 - FIRST) * step / rise)
    fallen = (step - rise) / max(1.0, recipe.steps - rise)
    return recipe.learning_rate * (LAST + (1 - LAST) * (1 + math.cos(math.pi * fallen)) / 2)


class TrainingRun:
    """A training that can be stopped anywhere and taken up again."""

    def __init__(self, learned: TrainingSet, held_out: TrainingSet, plan: TrainingPlan, folder: Path) -> None:
        recipe = self.recipe = plan.training
        torch.manual_seed(recipe.seed)
        self.plan = plan
        self.checkpoints = folder / "checkpoints"
        self.journal = RunLog(folder)
        self.batches = BatchSampler(learned, recipe, plan.network.patch_frames)
        self.learner = Learner(plan, self.batches.clips)
        if recipe.heads == "discriminant" and plan.network.projected:
            self.learner.initialise_heads(self.batches)
        self.optimiser = _optimiser(self.learner, recipe)
        self.rng = np.random.default_rng(recipe.seed)
        self.generator = torch.Generator().manual_seed(recipe.seed)
        apart = BatchSampler(held_out, recipe, plan.network.patch_frames)
        fixed = np.random.default_rng(recipe.seed)
        self.check_batches = [apart.draw(fixed) for _ in range(CHECK_BATCHES)]
        self.check_crops = torch.from_numpy(sample_crops(apart.clips, plan, CHECK_PATCHES))
        self.digest = _digest([*learned.clips, *held_out.clips])
        self.step, self.seconds, self.best, self.waited = 0, 0.0, math.inf, 0

    def advance(self) -> Row:
        """One step of training; its losses."""
        self.step += 1
        self.learner.prepare_codebook(self.step, self.batches.clips)
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate(self.recipe, self.step) * group["share"]
        terms, latents = self.learner.terms(self.batches.draw(self.rng), self.generator)
        loss = total(terms, self.recipe.weights)
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.learner.parameters(), self.recipe.clip)
        self.optimiser.step()
        self.learner.revive_codes(self.step, self.batches.epoch_steps, latents, self.generator)
        if not math.isfinite(float(loss.detach())):
            raise ModelError(f"the loss is no number at step {self.step}; lower the learning rate")
        return {"total": float(loss.detach()), **terms.numbers()}

    @torch.no_grad()
    def check(self) -> Row:
        """Losses on dances kept apart, always in the same views, and how many words they use."""
        self.learner.eval()
        views = torch.Generator().manual_seed(self.recipe.seed)
        measured = []
        for batch in self.check_batches:
            terms, _ = self.learner.terms(batch, views)
            measured.append({"total": float(total(terms, self.recipe.weights)), **terms.numbers()})
        model, words = self.learner.model, self.plan.network.vocabulary
        tokens = model.quantiser(model.encode(self.check_crops)).tokens
        self.learner.train()
        row = {f"held_out_{name}": value for name, value in _mean(measured).items()}
        channels = self.plan.network.channels
        for name, measure in (("usage", usage), ("perplexity", perplexity)):
            values = measure(tokens, words).tolist()
            row[name] = sum(values) / len(values)
            row |= {f"{name}_{channel}": value for channel, value in zip(channels, values, strict=True)}
        return row

    def keep(self, row: Row) -> None:
        """Log a check and keep the state, as the best one too if it is."""
        self.journal.write(row)
        judged = row["held_out_contrastive" if self.recipe.weights.contrastive else "held_out_total"]
        in_use = self.step > self.recipe.warm_up_steps or self.step == self.recipe.steps
        better = in_use and judged < self.best
        self.waited = 0 if better or not in_use else self.waited + 1
        self.best = judged if better else self.best
        if better:
            save_state(self.checkpoints / "best.safetensors", self.state())
        save_state(self.checkpoints / "latest.safetensors", self.state())

    @property
    def finished(self) -> bool:
        """Whether all steps are done, or the last checks brought nothing."""
        return self.step >= self.recipe.steps or 0 < self.recipe.patience <= self.waited

    def state(self) -> dict[str, Any]:
        """Everything that the next step depends on."""
        return {
            "progress": {
                "step": self.step,
                "seconds": self.seconds,
                "best": None if math.isinf(self.best) else self.best,
                "waited": self.waited,
                "digest": self.digest,
            },
            "learner": self.learner.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "chance": {
                "numpy": json.dumps(self.rng.bit_generator.state),
                "views": self.generator.get_state(),
                "torch": torch.get_rng_state(),
            },
        }

    def restore(self, name: str) -> None:
        """Go back to a checkpoint, "latest" or "best"."""
        path = self.checkpoints / f"{name}.safetensors"
        state = load_state(path)
        progress, chance = state["progress"], state["chance"]
        if progress["digest"] != self.digest:
            raise InputError(f"{path} was trained on other motions; give the same folders as before")
        self.step, self.seconds, self.waited = progress["step"], progress["seconds"], progress["waited"]
        self.best = math.inf if progress["best"] is None else progress["best"]
        try:
            self.learner.load_state_dict(state["learner"])
            self.optimiser.load_state_dict(state["optimiser"])
        except (RuntimeError, ValueError):
            raise InputError(f"{path} was made with other numbers than the run's config.json says") from None
        self.rng.bit_generator.state = json.loads(chance["numpy"])
        self.generator.set_state(chance["views"])
        torch.set_rng_state(chance["torch"])


def train(
    learned: TrainingSet,
    held_out: TrainingSet,
    plan: TrainingPlan,
    folder: Path,
    *,
    on_step: Callable[[StepReport], None] = lambda _: None,
) -> Learner:
    """Train by a plan in a folder that `create_run` made, from its latest checkpoint if there is one.

    Returns the learner as it was at its best check, its codebook refitted if the recipe says so.
    """
    with lock_run(folder):
        run = TrainingRun(learned, held_out, plan, folder)
        record_start(folder, plan, run.digest)
        if latest_checkpoint(folder).exists():
            run.restore("latest")
        run.journal.truncate(run.step)
        _advance_to_the_end(run, on_step)
        draw_curves(run.journal.rows(), folder / "curves.png")
        run.restore("best")
        if plan.training.refit_codebook:
            run.learner.fit_codebook(run.batches.clips)
        return run.learner.eval()


def _advance_to_the_end(run: TrainingRun, on_step: Callable[[StepReport], None]) -> None:
    """Step after step, with a check and a checkpoint whenever one is due."""
    recent: list[Row] = []
    while not run.finished:
        before = time.monotonic()
        recent.append(run.advance())
        checked = None
        if run.step % run.recipe.check_steps == 0 or run.step == run.recipe.steps:
            checked = _row(run, recent, run.check(), run.seconds + time.monotonic() - before)
        run.seconds += time.monotonic() - before
        if checked:
            run.keep(checked)
            recent = []
        on_step(StepReport(run.step, recent[-1] if recent else {}, checked))


def _row(run: TrainingRun, recent: Sequence[Row], checked: Row, seconds: float) -> Row:
    """A line of the log: the mean losses since the last one, and what the check says."""
    losses = {f"loss_{name}": value for name, value in _mean(recent).items()}
    rate = learning_rate(run.recipe, run.step)
    return {"step": run.step, "seconds": round(seconds, 2), "learning_rate": rate, **losses, **checked}


def _mean(rows: Sequence[Row]) -> Row:
    return {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}


def _optimiser(learner: Learner, recipe: TrainingRecipe) -> torch.optim.Optimizer:
    kind = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}[recipe.optimiser]
    encoder, begun = learner.model.encoder, recipe.heads == "discriminant"
    skips = [weight for head in encoder.part_heads for weight in head.skip.parameters() if begun]
    known = {id(weight) for weight in skips}
    slow = [weight for weight in encoder.parameters() if id(weight) not in known]
    known |= {id(weight) for weight in slow}
    groups: list[dict[str, Any]] = [
        {"params": [weight for weight in learner.parameters() if id(weight) not in known], "share": 1.0},
        {"params": slow, "share": recipe.encoder_rate},
    ]
    if skips:  # decay would draw them to zero, away from where they were put
        share = recipe.encoder_rate * recipe.head_rate
        groups.append({"params": skips, "share": share, "weight_decay": 0.0})
    return kind(groups, lr=recipe.learning_rate, weight_decay=recipe.weight_decay)


def _digest(clips: Sequence[TrainingTrack]) -> str:
    """A name for exactly these clips in this order."""
    digest = hashlib.sha256()
    for clip in clips:
        digest.update(clip.name.encode() + b"\0" + clip.joints.tobytes())
    return digest.hexdigest()
