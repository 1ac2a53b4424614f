"""Change points of Apache Otava, with its defaults: reads a JSON array of [baseline, candidate] series, and writes the change
at the first change point of the baseline's values followed by the candidate's, 0 without any, an array as well."""

import json
import sys

from otava.analysis import compute_change_points


def change(before, after):
    points, _ = compute_change_points(before + after, window_len=50, max_pvalue=0.001, min_magnitude=0.0)
    if not points:
        return 0.0
    first = min(points, key=lambda point: point.index)
    return float(first.stats.mean_2 - first.stats.mean_1)


json.dump([change(before, after) for before, after in json.load(sys.stdin)], sys.stdout)
