"""Records what Apache Otava 0.8.0 finds in the series of `against_otava.rs`: `python3 record.py > points.txt`."""

from otava.analysis import compute_change_points

MASK = (1 << 64) - 1


class SplitMix:
    """Steele, Lea and Flood, OOPSLA 2014."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def uniform(self):
        return (self.next() >> 11) / float(1 << 53)

    def below(self, end):
        return self.next() % end


def series(seed):
    random = SplitMix(seed)
    length = 80 + random.below(121)
    noise = 0.005 + 0.015 * random.uniform()
    steps = {}
    for _ in range(random.below(4)):
        at = 10 + random.below(length - 20)
        size = 0.04 + 0.16 * random.uniform()
        sign = 1.0 if random.below(2) == 0 else -1.0
        if all(abs(at - other) >= 10 for other in steps):
            steps[at] = 1.0 + sign * size
    spike = random.below(length)
    has_spike = seed % 5 == 0 and all(abs(spike - at) >= 5 for at in steps)
    level = 100.0
    values = []
    for index in range(length):
        level *= steps.get(index, 1.0)
        total = 0.0
        for _ in range(12):
            total += random.uniform()
        value = level * (1.0 + noise * (total - 6.0))
        values.append(value * 1.5 if has_spike and index == spike else value)
    return values


for seed in range(500):
    points, _ = compute_change_points(series(seed), window_len=50, max_pvalue=0.001, min_magnitude=0.03)
    print(" ".join(str(point.index) for point in points))
