//! The exponent of Zipf's law: the text of rank r occurs in proportion to r^-s.

/// Ranks that are fitted at most.
const RANKS_MAX: usize = 50_000;
/// Fewest occurrences of a rank that is fitted: among rarer ones chance decides which is before which.
const COUNT_MIN: u64 = 20;
/// Fewest ranks.
const RANKS_MIN: usize = 10;
/// Largest exponent.
const EXPONENT_MAX: f64 = 8.0;

/// A fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ZipfFit {
    pub(super) exponent: f64,
    /// 95 % interval of the exponent is ± this, if the law holds.
    pub(super) error: f64,
    /// Ranks from the first that were fitted.
    pub(super) ranks: usize,
    /// Largest difference between the shares of the first r ranks in the log and by the law. Near 0 if the law holds.
    pub(super) deviation: f64,
}

/// Fits the law to counts in descending order by maximum likelihood; `None` if there are too few.
///
/// The likelihood is that of the ranks that are fitted, given that a request was for one of them, so that rarer texts
/// need not be known.
pub(super) fn fit(counts: &[u64]) -> Option<ZipfFit> {
    let ranks = counts
        .partition_point(|count| *count >= COUNT_MIN)
        .min(RANKS_MAX);
    if ranks < RANKS_MIN {
        return None;
    }
    let is_cut = counts.len() > ranks;
    let counts: Vec<f64> = counts[..ranks].iter().map(|count| *count as f64).collect();
    let logs: Vec<f64> = (1..=ranks).map(|rank| (rank as f64).ln()).collect();
    let sorted = exponent_of(&logs, &counts);
    let exponent = if is_cut {
        exponent_of(&logs, &without_order(&counts, sorted))
    } else {
        sorted
    };
    let total: f64 = counts.iter().sum();
    let variance = moments(&logs, exponent).variance.max(1e-9);
    Some(ZipfFit {
        exponent,
        error: 1.96 / (total * variance).sqrt() + (sorted - exponent).abs() / 2.0,
        ranks,
        deviation: deviation(&counts, &logs, exponent),
    })
}

/// Counts without what sorting them by chance adds.
///
/// A count of mean c varies by √c. Because rarer texts are more numerous, more of them rise above a count than fall below it,
/// and the count at a rank is higher than that of the law by 1/(2s), to the second order, wherever the neighbours of a rank
/// are nearer than √c.
fn without_order(counts: &[f64], exponent: f64) -> Vec<f64> {
    let exponent = exponent.max(0.05);
    let corrected = counts.iter().enumerate().map(|(index, count)| {
        let is_mixed = count.sqrt() * exponent < (index + 1) as f64;
        if is_mixed {
            (count - 0.5 / exponent).max(0.0)
        } else {
            *count
        }
    });
    corrected.collect()
}

/// The exponent of the greatest likelihood: by it the mean of ln(rank) is the observed one.
fn exponent_of(logs: &[f64], counts: &[f64]) -> f64 {
    let weighted: f64 = counts
        .iter()
        .zip(logs)
        .map(|(count, log)| count * log)
        .sum();
    let observed = weighted / counts.iter().sum::<f64>();
    // The mean falls as the exponent rises.
    let (mut low, mut high) = (0.0, EXPONENT_MAX);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if moments(logs, middle).mean > observed {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

struct Moments {
    mean: f64,
    variance: f64,
}

/// Mean and variance of ln(rank) by the law.
fn moments(logs: &[f64], exponent: f64) -> Moments {
    let (mut weight, mut first, mut second) = (0.0, 0.0, 0.0);
    for log in logs {
        let share = (-exponent * log).exp();
        weight += share;
        first += share * log;
        second += share * log * log;
    }
    let mean = first / weight;
    Moments {
        mean,
        variance: second / weight - mean * mean,
    }
}

fn deviation(counts: &[f64], logs: &[f64], exponent: f64) -> f64 {
    let total: f64 = counts.iter().sum();
    let weight: f64 = logs.iter().map(|log| (-exponent * log).exp()).sum();
    let (mut observed, mut expected, mut largest) = (0.0, 0.0, 0.0_f64);
    for (count, log) in counts.iter().zip(logs) {
        observed += count / total;
        expected += (-exponent * log).exp() / weight;
        largest = largest.max((observed - expected).abs());
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uniform numbers in [0, 1).
    struct Uniform(u64);

    impl Uniform {
        fn next(&mut self) -> f64 {
            self.0 = super::super::hash::join(self.0, 1);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }
    }

    /// Counts of `requests` for texts by the law, in descending order.
    fn counts(seed: u64, exponent: f64, texts: usize, requests: usize) -> Vec<u64> {
        let mut sums = Vec::with_capacity(texts);
        let mut sum = 0.0;
        for rank in 1..=texts {
            sum += (rank as f64).powf(-exponent);
            sums.push(sum);
        }
        let (mut uniform, mut counts) = (Uniform(seed), vec![0; texts]);
        for _ in 0..requests {
            let at = uniform.next() * sum;
            counts[sums.partition_point(|sum| *sum <= at)] += 1;
        }
        counts.retain(|count| *count > 0);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }

    #[test]
    fn the_law_gives_its_exponent_back_within_the_error() {
        let (mut tried, mut within) = (0, 0);
        for (texts, requests) in [(200, 20_000), (5_000, 100_000), (50_000, 300_000)] {
            for exponent in [0.6, 0.8, 1.0, 1.3] {
                for seed in 1..=4 {
                    let fit = fit(&counts(seed, exponent, texts, requests)).unwrap();
                    let off = (fit.exponent - exponent).abs();
                    assert!(
                        off < 0.05 && fit.error < 0.06,
                        "{texts} {exponent}: {fit:?}"
                    );
                    assert!(fit.deviation < 0.02, "{texts} {exponent}: {fit:?}");
                    tried += 1;
                    within += u32::from(off <= fit.error);
                }
            }
        }
        // 95 % by the law of the error; four standard deviations below it.
        assert!(within * 100 >= tried * 84, "{within} of {tried}");
    }

    #[test]
    fn what_is_no_such_law_is_visible_in_the_deviation() {
        let mut counts = vec![100_000, 90_000];
        counts.extend(vec![100; 500]);
        assert!(fit(&counts).unwrap().deviation > 0.1);
        let even = fit(&[100; 500]).unwrap();
        assert!(even.exponent < 0.02, "{even:?}");
    }

    #[test]
    fn few_texts_or_requests_have_no_exponent() {
        assert_eq!(fit(&[]), None);
        assert_eq!(fit(&[1000; 9]), None);
        assert_eq!(fit(&[19; 100]), None);
    }
}
