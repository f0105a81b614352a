"""One collection of groups: the blocks of rates or shares that make up their matrices."""

import numpy as np
from scipy.special import expit, logit

from bayescm.posteriors.groups.dirichlet_groups import DirichletBlock
from bayescm.posteriors.groups.random_effects import Block
from bayescm.validate import fail


class Two:
    """Two classes: logit-normal prevalence, bivariate logit-normal recall and specificity."""

    def __init__(self, cells, concentration, spread, prevalence, regression=(None, 2.0)):
        (tn, fp), (fn, tp) = cells.transpose(1, 2, 0)
        hits, totals = np.stack([tp, tn], axis=1), np.stack([tp + fn, tn + fp], axis=1)
        rates = np.array([concentration[1, ::-1], concentration[0]])
        moved: dict = dict(zip(("design", "slope"), regression, strict=True))
        self.rates = Block(hits, totals, rates, spread, **moved)
        shares = concentration.sum(1)[::-1][None]
        self.shares = Block(totals[:, :1], totals.sum(1, keepdims=True), shares, spread, **moved)
        self.prevalence = prevalence
        self.parameters: tuple[str, ...] = ("rates", "spread", "correlation")
        if regression[0] is not None:
            self.parameters += ("slope",)

    @property
    def effective(self):
        """The number of independent draws that the parameters are worth at most."""
        return min(block.points.effective for block in (self.rates, self.shares))

    def draws(self, size, rng, groups):
        """Return draws (size, ...) of the model's variables, of the groups' own if asked for."""
        blocks = (self.shares, self.rates)
        chosen = [block.points.choose(size, rng) for block in blocks]
        pairs = list(zip(blocks, chosen, strict=True))
        parts = [block.points.points[places] for block, places in pairs]
        split = [block.split(points) for block, points in zip(blocks, parts, strict=True)]
        means, spread = (np.concatenate([each[i] for each in split], axis=1) for i in (0, 1))
        found = {
            "rates": expit(means),
            "spread": spread,
            "correlation": (split[1][2] + 1) / 2,
            "theta": self._average(pairs),
            "theta_typical": self._theta(means, self.prevalence),
        }
        if "slope" in self.parameters:
            slopes = [block.slopes(p) for block, p in zip(blocks, parts, strict=True)]
            found["slope"] = np.concatenate(slopes, axis=-1)
        new = rng.standard_normal((size, 1, 3))
        found |= {"effect_new": new[:, 0]}
        found["theta_new"] = self._theta(self._new(found, means, new[:, 0]), self.prevalence)
        if groups:
            own = [b.draw_effects(p, rng) for b, p in zip(blocks, parts, strict=True)]
            found["effect"] = np.concatenate(own, axis=-1)
            found["theta_group"] = self._theta(self._logits(parts, found["effect"]))
        return found

    def log_likelihood(self, drawn):
        """Return that of every group (S, G), its effects integrated out, without coefficients."""
        means = logit(np.clip(drawn["rates"], 1e-300, 1 - 1e-16))
        spread = np.log(drawn["spread"])
        turned = np.arctanh(np.clip(2 * drawn["correlation"] - 1, -1 + 1e-12, 1 - 1e-12))
        size = len(means)
        slopes = drawn.get("slope", np.zeros((size, 0, 3)))
        own, other = slopes[..., :1].reshape(size, -1), slopes[..., 1:].reshape(size, -1)
        shares = np.concatenate([means[:, :1], spread[:, :1], own], axis=1)
        rates = np.concatenate([means[:, 1:], spread[:, 1:], turned[:, None], other], axis=1)
        return self.shares.log_likelihood(shares) + self.rates.log_likelihood(rates)

    def _average(self, pairs):
        """Return the cells (S, 2, 2) averaged over all groups, of blocks and the points drawn."""
        both = [[each[places] for each in block.averages] for block, places in pairs]
        yes, no = (np.concatenate(each, axis=1) for each in zip(*both, strict=True))
        # Prevalence and rates are independent between groups, and each cell is linear in a rate.
        return self._cells(yes, no, self.prevalence)

    @staticmethod
    def _new(found, means, effects):
        """Return the logits (S, 3) of a group like the typical one, but for its effects."""
        rho = 2 * found["correlation"] - 1
        last = rho * effects[:, 1] + np.sqrt(np.maximum(1 - rho**2, 1e-12)) * effects[:, 2]
        return means + found["spread"] * np.stack([*effects.T[:2], last], axis=-1)

    def _logits(self, parts, effects):
        shares = self.shares.logits(parts[0], effects[..., :1])
        return np.concatenate([shares, self.rates.logits(parts[1], effects[..., 1:])], axis=-1)

    @staticmethod
    def _theta(logits, prevalence=None):
        return Two._cells(expit(logits), expit(-logits), prevalence)

    @staticmethod
    def _cells(yes, no, prevalence):
        share, recall, specificity = np.moveaxis(yes, -1, 0)
        rest, miss, alarm = np.moveaxis(no, -1, 0)
        if prevalence is not None:
            share, rest = np.full_like(share, prevalence), np.full_like(share, 1 - prevalence)
        rows = [[rest * specificity, rest * alarm], [share * miss, share * recall]]
        return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


class Many:
    """
    Many classes: Dirichlet distributions of the class shares, of what is right, and of the errors.

    How often a class is right and where its errors go have a spread each: groups that differ in
    the one may agree in the other.
    """

    parameters = ("shares", "right", "errors", "spread")

    def __init__(self, cells, concentration, spread, prevalence, regression=(None, 2.0)):
        if regression[0] is not None:
            todo = "leave them out, or compare one class with the rest"
            raise fail("covariates are for two classes", ..., "two classes", todo)
        if prevalence is not None:
            todo = "leave it out, or compare one class with the rest"
            raise fail("prevalence is for two classes", prevalence, "two classes", todo)
        self.shares = DirichletBlock(cells.sum(-1), concentration.sum(-1), spread)
        parts = [
            zip(_right(each), _errors(each), strict=True) for each in (cells, concentration[None])
        ]
        pairs = [(seen, prior) for seen, prior in zip(*parts, strict=True)]
        self.right = [DirichletBlock(seen[0], prior[0][0], spread) for seen, prior in pairs]
        self.errors = [DirichletBlock(seen[1], prior[1][0], spread) for seen, prior in pairs]

    @property
    def effective(self):
        """The number of independent draws that the parameters are worth at most."""
        return min(block.points.effective for block in self.each_block)

    def draws(self, size, rng, groups):
        """Return draws (size, ...) of the model's variables, of the groups' own if asked for."""
        blocks = self.each_block
        parts = [block.points.draw(size, rng) for block in blocks]
        split = [block.split(points) for block, points in zip(blocks, parts, strict=True)]
        shares, right, errors = self._named([each[0] for each in split])
        rows = _rows(right[..., 0], errors)
        found = {
            "shares": shares,
            "right": right[..., 0],
            "errors": errors,
            "rows": rows,
            "spread": np.stack([each[1] for each in split], axis=1),
            "theta": shares[..., None] * rows,
        }
        found["theta_typical"] = found["theta"]  # the parts are independent
        pairs = list(zip(blocks, parts, strict=True))
        found |= self._drawn([block.draw_new(points, rng) for block, points in pairs], "new")
        if groups:
            own = [block.draw_groups(points, rng) for block, points in pairs]
            found |= self._drawn(own, "group")
        return found

    def _named(self, values):
        """Return the shares (..., C), what is right (..., C, 2) and errors (..., C, C - 1)."""
        shares, *rest = values
        half = len(self.right)
        right, errors = (np.stack(each, axis=-2) for each in (rest[:half], rest[half:]))
        return shares, right, errors

    def _drawn(self, values, whose):
        """Return shares, rows and cell probabilities of groups."""
        shares, right, errors = self._named(values)
        rows = _rows(right[..., 0], errors)
        theta = shares[..., None] * rows
        return {f"shares_{whose}": shares, f"rows_{whose}": rows, f"theta_{whose}": theta}

    def log_likelihood(self, drawn):
        """Return that of every group (S, G), its shares integrated out, without coefficients."""
        right = np.stack([drawn["right"], 1 - drawn["right"]], axis=-1)
        typical = [
            drawn["shares"],
            *np.moveaxis(right, -2, 0),
            *np.moveaxis(drawn["errors"], -2, 0),
        ]
        spread = np.log(drawn["spread"])
        return sum(
            block.log_likelihood(np.concatenate([shares, spread[:, [row]]], axis=1))
            for row, (block, shares) in enumerate(zip(self.each_block, typical, strict=True))
        )

    @property
    def each_block(self):
        """The class shares, then what is right of every class, then its errors."""
        return (self.shares, *self.right, *self.errors)


def _right(cells):
    """Return how many of every class are right and wrong, (C, ..., 2)."""
    right = np.einsum("...ii->i...", cells)
    return np.stack([right, np.moveaxis(cells.sum(-1), -1, 0) - right], axis=-1)


def _errors(cells):
    """Return the errors of every class, (C, ..., C - 1)."""
    classes = cells.shape[-1]
    off = cells[..., ~np.eye(classes, dtype=bool)]
    return np.moveaxis(off.reshape(*cells.shape[:-1], classes - 1), -2, 0)


def _rows(right, errors):
    """Return the rows (..., C, C) of what is right (..., C) and of the errors (..., C, C - 1)."""
    classes = right.shape[-1]
    rows = np.empty((*right.shape, classes))
    rows[..., np.eye(classes, dtype=bool)] = right
    wrong = (1 - right)[..., None] * errors
    rows[..., ~np.eye(classes, dtype=bool)] = wrong.reshape(*right.shape[:-1], -1)
    return rows
