"""Parts of a distribution: one mode or two, by a normal mixture against the best single-humped law, and its tails."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import digamma, gammaln, logsumexp, ndtri, polygamma, stdtrit

from ..values import FiniteResult, FloatArray, sorted_quantile

TAIL_RATIO = 1.183
"""Mean distance of the upper half from the median over the median absolute deviation, for a normal law."""
TAIL_EXCESS = 2.4
"""Above it by this over sqrt(half the runs) is a heavy tail: 1 to 2 of 100 normal samples of 60 runs get there."""
LEAST_EXCESS = 0.1
"""And by this at least: of a million runs the slightest departure is plain."""
LEAST_RUNS = 20
FENCE = 1.5
"""Interquartile ranges beyond a quartile (Tukey 1977); of a normal law 0.35 % lie beyond it on each side."""
LEAST_SCORE = 3.5
"""Of the modified z score of Iglewicz and Hoaglin (1993)."""
FALSE_RATE = 0.01
"""Share of normal samples with an outlier, nominal: the bar rises with the number of runs. Found, of 100 to 300
samples: .10, .08 and .01 of 30, 100 and 1000 normal runs; .18 and .04 of 100 and 1000 lognormal(.5) runs, where the
plain modified z score names some in .91 and 1.0, and the adjusted boxplot in .88 and 1.0."""
MOST_SHOWN = 20
RULE = "robust z score above {bar:.2f} after the logarithm that makes p10, the median and p90 symmetrical"
MOST_POINTS = 2000
"""More runs are thinned to evenly spaced order statistics: the question is one of shape."""
LEAST_POINTS = 20
LEAST_WEIGHT = 0.05
ASHMAN_D = 2.0
"""Least separation |m1 - m2| sqrt(2 / (s1^2 + s2^2)) (Ashman, Bird and Zepf 1994)."""
BIC_GAIN = 10.0
FAR_OFF = 3.0
"""Times the distance from p10 to p90, beyond either: wild, where fewer runs lie there than a mode needs."""
STEPS = 150
STARTS = (0.1, 0.25, 0.5)
SHIFTS = np.geomspace(0.01, 30, 24)
"""Distance, in SDs, from the lowest value to the origin of a shifted law; the floor keeps its likelihood bounded."""
FLATNESS = np.array([3.0, 4.0, 6.0, 10.0, 20.0])
"""Exponents of the law exp(-|x - m|^b): 2 is normal, and the last is as good as uniform."""
FLAT_GAIN = -5.0
"""A flat-topped law may be better than the mixture by this much in BIC, or two equal humps would be lost to it."""
WINDOW = 0.2
"""Half the width, as a share of the distance between modes, of the places whose runs are counted."""
HALFWAY = (0.4, 0.5, 0.6)


class Outliers(FiniteResult):
    """Runs beyond the reach of a shifted lognormal law that fits the bulk."""

    count: int
    rule: str
    low: float | None
    """Runs below it are outliers; None where there is no such bound."""
    high: float | None
    places: tuple[int, ...]
    """Indices of the first 20, from 0, in the order given."""
    values: tuple[float, ...]


def heavy(x: FloatArray) -> bool:
    """Say whether the upper half of sorted values reaches further than that of a normal law of the same MAD."""
    if x.size < LEAST_RUNS:
        return False
    away = x - np.median(x)
    reach, middle = float(away[(x.size + 1) // 2 :].mean()), float(np.median(np.abs(away)))
    if middle == 0:
        return reach > 0
    return reach / middle > TAIL_RATIO + max(TAIL_EXCESS / math.sqrt(x.size / 2), LEAST_EXCESS)


def weight(x: FloatArray) -> float:
    """Share of sorted values above p75 by more than 1.5 interquartile ranges."""
    if not x.size:
        return 0.0
    low, high = float(sorted_quantile(x, 0.25)), float(sorted_quantile(x, 0.75))
    return float((x > high + FENCE * (high - low)).mean())


def outliers(values: FloatArray, ascending: FloatArray, valleys: list[float]) -> Outliers:
    """Find them among values in run order: below what the lowest mode reaches, above what the highest reaches."""
    parts = np.split(ascending, np.searchsorted(ascending, valleys))
    # As if the scale came from a fifth of the runs: quantiles of few runs are rough.
    bar = max(LEAST_SCORE, float(-stdtrit(max(values.size, 1) / 5, FALSE_RATE / 2 / max(values.size, 1))))
    high, low = _reach(parts[-1], bar), _reach(-parts[0][::-1], bar)
    beyond = np.zeros(values.size, dtype=np.bool_)
    if high is not None:
        beyond |= values > high
    if low is not None:
        beyond |= values < -low
    found = np.flatnonzero(beyond)
    shown = found[:MOST_SHOWN]
    return Outliers(
        count=found.size,
        rule=RULE.format(bar=bar),
        low=None if low is None else -low,
        high=high,
        places=tuple(shown.tolist()),
        values=tuple(values[shown].tolist()),
    )


def _reach(x: FloatArray, bar: float) -> float | None:
    """Upper bound: `bar` robust SDs above the median of log(x - shift), on the scale of x.

    With u = p90 - p50 and d = p50 - p10, ratio q = u / d, the shifted lognormal law through the three quantiles has
    x(z) = p50 + u (q^(z / z90) - 1) / (q - 1); none of the three minds what lies beyond it.
    """
    if x.size < LEAST_RUNS:
        return None
    low, middle, high = (float(sorted_quantile(x, share)) for share in (0.1, 0.5, 0.9))
    up, down = high - middle, middle - low
    if up <= 0 or down <= 0:
        return None
    z90 = float(ndtri(0.9))
    q = up / down
    if abs(math.log(q)) < 1e-6:
        return middle + bar / z90 * up
    exponent = bar / z90 * math.log(q)
    reach = middle + up * math.expm1(exponent) / (q - 1) if exponent < 700 else math.inf
    return reach if math.isfinite(reach) else None


def valleys(sorted_values: FloatArray, resolution: float = 0.0) -> list[float]:
    """Find the cuts between modes; the first is the one that splits all the runs, none means one mode.

    A mixture must beat the best of normal, shifted lognormal and shifted gamma (the last two also mirrored) by 10 in
    BIC, with Ashman's D above 2 and 5 % in each mode. A mixture against the normal alone calls skewed samples
    bimodal nearly always. It must also do about as well as a flat-topped law, and fewer runs must lie at the valley
    than at either mode. Two modes were so found in at most .035 of 200 to 300 samples of 60 to 400 runs of uniform,
    rounded, normal, lognormal, gamma and beta(2, 2) laws (.14 of beta(1.2, 2)); in .2 of 100 and .7 of 200 runs with
    15 % at 4 SDs, all with 15 % at 8 SDs, .88 with half at 4 SDs; in .3 with 10 % exponential spikes. Each side is
    then asked again, so that three modes are found as well.
    """
    least = max(LEAST_WEIGHT * sorted_values.size, 3)
    return _split(_without_wild(sorted_values, least), resolution, least)


def _without_wild(x: FloatArray, least: float) -> FloatArray:
    """Leave out a few runs far off: too few for a mode, they widen the component that has to hold them."""
    low, high = np.quantile(x, (0.1, 0.9)) if x.size else (0.0, 0.0)
    reach = FAR_OFF * (high - low)
    near = x[(x >= low - reach) & (x <= high + reach)]
    return near if x.size - near.size < least else x


def _split(x: FloatArray, resolution: float, least: float) -> list[float]:
    cut = _valley(x, resolution)
    if cut is None:
        return []
    place = int(np.searchsorted(x, cut))
    if min(place, x.size - place) < least:
        return []
    return [cut, *_split(x[:place], resolution, least), *_split(x[place:], resolution, least)]


def _valley(x: FloatArray, resolution: float) -> float | None:
    if x.size < LEAST_POINTS or x[0] == x[-1]:
        return None
    centre, scale = float(np.median(x)), float(x.std())
    z = (_thinned(x) - centre) / scale
    # A component may not be narrower than the clock can tell, or ties would look like modes.
    floor = max(resolution / scale / 2, 1e-4)
    pair = _best_pair(z, floor)
    if pair is None:
        return None
    means, sds, weights, likelihood = pair
    bic = 5 * np.log(z.size) - 2 * likelihood
    if _single_bic(z) - bic <= BIC_GAIN or _flat_bic(z) - bic <= FLAT_GAIN:
        return None
    grid = np.linspace(means[0], means[1], 513)
    density = logsumexp(_log_density(grid, means[None], sds[None], weights[None])[0], axis=0)
    cut = float(grid[int(density.argmin())])
    return cut * scale + centre if _emptier(z, cut, means) else None


def _emptier(z: FloatArray, cut: float, means: FloatArray) -> bool:
    """Say whether fewer runs lie between the modes than around the middle of either.

    A side may hold several modes with nothing at its mean, and the cut may graze a narrow mode: so the quartiles of
    each side, away from the cut, and places halfway between the means are tried as well.
    """
    gap = float(means[1] - means[0])
    between = min(_around(z, place, gap) for place in (cut, *(means[0] + gap * np.array(HALFWAY)).tolist()))
    for side, mean in ((z[z <= cut], means[0]), (z[z > cut], means[1])):
        far = [place for place in np.quantile(side, (0.25, 0.75)).tolist() if abs(place - cut) > 2 * WINDOW * gap]
        if between >= max(_around(z, place, gap) for place in (float(mean), *far)):
            return False
    return True


def _around(z: FloatArray, place: float, gap: float) -> int:
    low, high = np.searchsorted(z, (place - WINDOW * gap, place + WINDOW * gap))
    return int(high - low)


def _thinned(x: FloatArray) -> FloatArray:
    if x.size <= MOST_POINTS:
        return x
    thinned: FloatArray = x[np.linspace(0, x.size - 1, MOST_POINTS).round().astype(int)]
    return thinned


def _log_density(z: FloatArray, means: FloatArray, sds: FloatArray, weights: FloatArray) -> FloatArray:
    """Log of weight times density: starts x components x points."""
    u = (z - means[..., None]) / sds[..., None]
    joint: FloatArray = np.log(weights / sds)[..., None] - 0.5 * u * u - 0.5 * np.log(2 * np.pi)
    return joint


def _starts(z: FloatArray) -> FloatArray:
    """Responsibilities to start from: cuts at fixed shares and at the largest gap, of sorted values."""
    n = z.size
    edge = max(int(LEAST_WEIGHT * n), 1)
    gap = edge + int(np.diff(z[edge - 1 : n - edge + 1]).argmax())
    below = [int(share * n) for share in STARTS]
    # From both ends alike, so that a mirrored sample has the mirrored modes.
    places = np.unique([*below, *(n - place for place in below), gap])
    upper = np.arange(n)[None, :] >= places[:, None]
    return np.stack((~upper, upper), axis=1).astype(np.float64)


def _best_pair(z: FloatArray, floor: float) -> tuple[FloatArray, FloatArray, FloatArray, float] | None:
    """Expectation-maximisation from all starts at once; the likeliest pair that is apart and heavy enough."""
    share = _starts(z)
    before = np.full(share.shape[0], -np.inf)
    for _ in range(STEPS):
        mass = np.maximum(share.sum(axis=2), 1e-9)
        means = share @ z / mass
        sds = np.sqrt(np.maximum(share @ (z * z) / mass - means**2, floor**2))
        weights = mass / mass.sum(axis=1, keepdims=True)
        joint = _log_density(z, means, sds, weights)
        total = np.logaddexp(joint[:, 0], joint[:, 1])
        likelihood = total.sum(axis=1)
        if (likelihood - before < 1e-3).all():
            break
        before = likelihood
        share = np.exp(joint - total[:, None, :])
    apart = np.abs(np.diff(means, axis=1))[:, 0] * np.sqrt(2 / (sds**2).sum(axis=1)) > ASHMAN_D
    fit = np.where(apart & (weights.min(axis=1) >= LEAST_WEIGHT), likelihood, -np.inf)
    best = int(fit.argmax())
    if not np.isfinite(fit[best]):
        return None
    order = np.argsort(means[best])
    return means[best][order], sds[best][order], weights[best][order], float(fit[best])


def _single_bic(z: FloatArray) -> float:
    log_n = np.log(z.size)
    normal = 2 * log_n + z.size * (np.log(2 * np.pi * z.var()) + 1)
    skewed = max(_skewed(z), _skewed(-z[::-1]))
    return float(min(normal, 3 * log_n - 2 * skewed))


def _skewed(z: FloatArray) -> float:
    """Greatest log likelihood of a shifted lognormal or gamma law, profiled over the shift."""
    n = z.size
    y = z[None, :] - (z[0] - SHIFTS[:, None])
    log_y = np.log(y)
    sum_log, mean = log_y.sum(axis=1), y.mean(axis=1)
    lognormal = -n * (np.log(log_y.std(axis=1)) + 0.5 * np.log(2 * np.pi) + 0.5) - sum_log
    # Minka's start and one Newton step for the shape of a gamma law.
    s = np.log(mean) - sum_log / n
    k = (3 - s + np.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s)
    k -= (np.log(k) - digamma(k) - s) / (1 / k - polygamma(1, k))
    gamma = (k - 1) * sum_log - n * k - n * (k * np.log(mean / k) + gammaln(k))
    return float(np.maximum(lognormal, gamma).max())


def _flat_bic(z: FloatArray) -> float:
    """Least BIC of flat-topped laws (generalised normal), over a grid of middles and of exponents."""
    centres = z.mean(), (z[0] + z[-1]) / 2
    away = np.abs(z - np.linspace(min(centres) - 0.1, max(centres) + 0.1, 13)[:, None])
    widest = away.max(axis=1)
    best = -np.inf
    for b in FLATNESS:
        scale = widest * (b * ((away / widest[:, None]) ** b).mean(axis=1)) ** (1 / b)
        best = max(best, float((np.log(b) - np.log(2 * scale) - gammaln(1 / b) - 1 / b).max()))
    return float(3 * np.log(z.size) - 2 * z.size * best)
