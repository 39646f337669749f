"""A training run: steps, checks on held-out dances, and checkpoints to resume from exactly.

A run's folder holds `config.json` (usable as a config file), `log.csv` and `log.jsonl`,
`curves.png`, `checkpoints/` and, at the end, `model/`. A run that is stopped in any way and
resumed ends with the same numbers as one that is not.
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
from dancematch.training.data.tracks import TrainingTrack
from dancematch.training.network.learner import Learner, sample_crops
from dancematch.training.network.losses import total_loss
from dancematch.training.recipe import TrainingPlan, TrainingRecipe
from dancematch.training.run.checkpoint import load_state, save_state
from dancematch.training.run.curves import draw_curves
from dancematch.training.run.run_folder import latest_checkpoint, lock_run, record_start, require_check
from dancematch.training.run.run_log import Row, RunLog

CHECK_BATCHES = 4
CHECK_PATCHES = 4096  # whose words are counted
RISE = 0.1  # share of a one-cycle's steps in which the learning rate rises
FIRST, LAST = 1 / 25, 1e-4  # learning rate at both ends of a one-cycle, as shares of its peak


@dataclass(frozen=True)
class StepReport:
    """What a step reports to a progress display."""

    step: int
    losses: Row
    check: Row | None = None  # the log's new row, after a check


def learning_rate(recipe: TrainingRecipe, step: int) -> float:
    """The rate of a step, counted from 1; a pure function, so a checkpoint need not hold it."""
    if recipe.schedule == "constant":
        return recipe.learning_rate
    rise = max(1.0, RISE * recipe.steps)
    if step <= rise:
        return recipe.learning_rate * (FIRST + (1 - FIRST) * step / rise)
    progress = (step - rise) / max(1.0, recipe.steps - rise)
    return recipe.learning_rate * (LAST + (1 - LAST) * (1 + math.cos(math.pi * progress)) / 2)


class TrainingRun:
    """The state of a run; it can be stopped after any step and restored from a checkpoint."""

    def __init__(
        self, training: TrainingSet, held_out: TrainingSet, plan: TrainingPlan, folder: Path
    ) -> None:
        recipe = self.recipe = plan.training
        torch.manual_seed(recipe.seed)
        self.plan = plan
        self.checkpoints = folder / "checkpoints"
        self.log = RunLog(folder)
        self.sampler = BatchSampler(training, recipe, plan.network.patch_frames)
        self.learner = Learner(plan, self.sampler.tracks)
        if recipe.head_start == "discriminant" and plan.network.projected:
            self.learner.initialise_heads(self.sampler)
        self.optimiser = _make_optimiser(self.learner, recipe)
        self.rng = np.random.default_rng(recipe.seed)
        self.generator = torch.Generator().manual_seed(recipe.seed)
        check_sampler = BatchSampler(held_out, recipe, plan.network.patch_frames)
        check_rng = np.random.default_rng(recipe.seed)
        self.check_batches = [check_sampler.draw(check_rng) for _ in range(CHECK_BATCHES)]
        self.check_crops = torch.from_numpy(sample_crops(check_sampler.tracks, plan, CHECK_PATCHES))
        self.digest = _hash_tracks([*training.tracks, *held_out.tracks])
        self.step, self.seconds, self.best, self.stale_checks = 0, 0.0, math.inf, 0

    def advance(self) -> Row:
        """Do one step of training and return its losses."""
        self.step += 1
        self.learner.schedule_codebook(self.step, self.sampler.tracks)
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate(self.recipe, self.step) * group["share"]
        terms, latents = self.learner.compute_losses(self.sampler.draw(self.rng), self.generator)
        loss = total_loss(terms, self.recipe.weights)
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.learner.parameters(), self.recipe.gradient_clip)
        self.optimiser.step()
        self.learner.revive_words(self.step, self.sampler.epoch_steps, latents, self.generator)
        if not math.isfinite(float(loss.detach())):
            raise ModelError(f"the loss is no number at step {self.step}; lower the learning rate")
        return {"total": float(loss.detach()), **terms.to_floats()}

    @torch.no_grad()
    def check(self) -> Row:
        """Losses on held-out dances, always in the same augmentation, and how many words they use."""
        self.learner.eval()
        generator = torch.Generator().manual_seed(self.recipe.seed)
        losses = []
        for batch in self.check_batches:
            terms, _ = self.learner.compute_losses(batch, generator)
            losses.append({"total": float(total_loss(terms, self.recipe.weights)), **terms.to_floats()})
        model, words = self.learner.model, self.plan.network.vocabulary
        tokens = model.quantiser(model.encode(self.check_crops)).tokens
        self.learner.train()
        row = {f"held_out_{name}": value for name, value in _mean(losses).items()}
        channels = self.plan.network.channels
        for name, measure in (("usage", usage), ("perplexity", perplexity)):
            values = measure(tokens, words).tolist()
            row[name] = sum(values) / len(values)
            row |= {f"{name}_{channel}": value for channel, value in zip(channels, values, strict=True)}
        return row

    def save_check(self, row: Row) -> None:
        """Log a check and save the state, as the best one too if it is."""
        self.log.append(row)
        loss = row["held_out_contrastive" if self.recipe.weights.contrastive else "held_out_total"]
        quantised = self.step > self.recipe.warm_up_steps or self.step == self.recipe.steps
        better = quantised and loss < self.best
        self.stale_checks = 0 if better or not quantised else self.stale_checks + 1
        self.best = loss if better else self.best
        if better:
            save_state(self.checkpoints / "best.safetensors", self.state())
        save_state(self.checkpoints / "latest.safetensors", self.state())

    @property
    def finished(self) -> bool:
        """Whether all steps are done, or the last checks brought no progress."""
        return self.step >= self.recipe.steps or 0 < self.recipe.patience <= self.stale_checks

    def state(self) -> dict[str, Any]:
        """Everything that the next step depends on."""
        return {
            "progress": {
                "step": self.step,
                "seconds": self.seconds,
                "best": None if math.isinf(self.best) else self.best,
                "stale_checks": self.stale_checks,
                "digest": self.digest,
            },
            "learner": self.learner.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "random": {
                "batches": json.dumps(self.rng.bit_generator.state),
                "augmentation": self.generator.get_state(),
                "torch": torch.get_rng_state(),
            },
        }

    def restore(self, name: str) -> None:
        """Go back to a checkpoint, "latest" or "best"."""
        path = self.checkpoints / f"{name}.safetensors"
        state = load_state(path)
        progress, random = state["progress"], state["random"]
        if progress["digest"] != self.digest:
            raise InputError(f"{path} was trained on other motions; give the same folders as before")
        self.step, self.seconds, self.stale_checks = (
            progress[key] for key in ("step", "seconds", "stale_checks")
        )
        self.best = math.inf if progress["best"] is None else progress["best"]
        try:
            self.learner.load_state_dict(state["learner"])
            self.optimiser.load_state_dict(state["optimiser"])
        except (RuntimeError, ValueError):
            raise InputError(f"{path} was made with other numbers than the run's config.json says") from None
        self.rng.bit_generator.state = json.loads(random["batches"])
        self.generator.set_state(random["augmentation"])
        torch.set_rng_state(random["torch"])


def train(
    training: TrainingSet,
    held_out: TrainingSet,
    plan: TrainingPlan,
    folder: Path,
    *,
    finish: bool = False,
    on_step: Callable[[StepReport], None] = lambda _: None,
) -> Learner:
    """Train in a folder that `create_run` made, from its latest checkpoint if there is one.

    Returns the learner of the best check, its codebook refitted if the recipe says so. With `finish` no
    step is added to those of the checkpoint.
    """
    with lock_run(folder):
        run = TrainingRun(training, held_out, plan, folder)
        record_start(folder, plan, run.digest)
        if latest_checkpoint(folder).exists():
            run.restore("latest")
        run.log.truncate(run.step)
        if not finish:
            _run_steps(run, on_step)
        else:
            require_check(folder)
        draw_curves(run.log.read(), folder / "curves.png")
        run.restore("best")
        if plan.training.refit_codebook:
            run.learner.fit_codebook(run.sampler.tracks)
        return run.learner.eval()


def _run_steps(run: TrainingRun, on_step: Callable[[StepReport], None]) -> None:
    """Step until the run is finished, with a check and a checkpoint every `check_steps`."""
    recent: list[Row] = []
    while not run.finished:
        before = time.monotonic()
        recent.append(run.advance())
        row = None
        if run.step % run.recipe.check_steps == 0 or run.step == run.recipe.steps:
            row = _make_row(run, recent, run.check(), run.seconds + time.monotonic() - before)
        run.seconds += time.monotonic() - before
        if row:
            run.save_check(row)
            recent = []
        on_step(StepReport(run.step, recent[-1] if recent else {}, row))


def _make_row(run: TrainingRun, recent: Sequence[Row], check: Row, seconds: float) -> Row:
    """A row of the log: the mean losses since the last one, and the check."""
    losses = {f"loss_{name}": value for name, value in _mean(recent).items()}
    rate = learning_rate(run.recipe, run.step)
    return {"step": run.step, "seconds": round(seconds, 2), "learning_rate": rate, **losses, **check}


def _mean(rows: Sequence[Row]) -> Row:
    return {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}


def _make_optimiser(learner: Learner, recipe: TrainingRecipe) -> torch.optim.Optimizer:
    kind = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}[recipe.optimiser]
    encoder, initialised = learner.model.encoder, recipe.head_start == "discriminant"
    skips = [weight for head in encoder.part_heads for weight in head.skip.parameters() if initialised]
    assigned = {id(weight) for weight in skips}
    slow = [weight for weight in encoder.parameters() if id(weight) not in assigned]
    assigned |= {id(weight) for weight in slow}
    groups: list[dict[str, Any]] = [
        {"params": [weight for weight in learner.parameters() if id(weight) not in assigned], "share": 1.0},
        {"params": slow, "share": recipe.encoder_rate},
    ]
    if skips:  # decay would pull them to zero, away from the discriminant
        share = recipe.encoder_rate * recipe.head_rate
        groups.append({"params": skips, "share": share, "weight_decay": 0.0})
    return kind(groups, lr=recipe.learning_rate, weight_decay=recipe.weight_decay)


def _hash_tracks(tracks: Sequence[TrainingTrack]) -> str:
    """SHA-256 of exactly these tracks in this order."""
    digest = hashlib.sha256()
    for track in tracks:
        digest.update(track.name.encode() + b"\0" + track.joints.tobytes())
    return digest.hexdigest()
