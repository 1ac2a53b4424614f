use plimsoll_model::seed::Seed;
use rand::RngExt as _;

use super::*;

fn single(name: &'static str, values: &[f64]) -> RepeatedMetric {
    let values = values.iter().copied().map(Some).collect();
    trends(&[(name, values)]).remove(0)
}

#[test]
fn the_newspaper_does_not_recover() {
    // CPU of five equal tests as published: least squares gives 10.9 points a run, s = 2.654, t(3) = 3.182.
    let cpu = single(metrics::CPU, &[0.20, 0.29, 0.41, 0.56, 0.61]);
    let slope = cpu.slope().unwrap();
    assert!((slope.value - 0.109).abs() < 1e-9, "{slope:?}");
    assert!((slope.low - 0.082_3).abs() < 5e-4, "{slope:?}");
    assert!((slope.high - 0.135_7).abs() < 5e-4, "{slope:?}");
    assert_eq!(cpu.recovers(), Some(false));
    // The same among six other metrics.
    let mut series: Vec<(&str, Vec<Option<f64>>)> = GROWING
        .into_iter()
        .map(|name| {
            (
                name,
                vec![Some(5.0), Some(5.1), Some(4.9), Some(5.0), Some(5.1)],
            )
        })
        .collect();
    series[1].1 = cpu.values().to_vec();
    let all = trends(&series);
    let growing: Vec<&str> = all
        .iter()
        .filter(|metric| metric.recovers() == Some(false))
        .map(RepeatedMetric::name)
        .collect();
    assert_eq!(growing, [metrics::CPU]);
}

#[test]
fn level_falling_and_slightly_growing_metrics_recover() {
    for values in [
        [100.0, 101.0, 99.0, 100.0, 100.5],
        [100.0, 80.0, 60.0, 40.0, 20.0],
        [100.0, 101.0, 102.0, 103.0, 104.0],
        [0.0, 0.0, 0.0, 0.0, 0.0],
        // A single jump is not growth from run to run.
        [100.0, 100.0, 100.0, 100.0, 140.0],
    ] {
        let metric = single(metrics::MEMORY, &values);
        assert_eq!(metric.recovers(), Some(true), "{values:?}");
    }
    let errors = single(metrics::ERRORS, &[0.0, 0.000_1, 0.000_2, 0.000_3, 0.000_4]);
    assert_eq!(errors.recovers(), Some(true));
}

#[test]
fn too_few_values_decide_nothing() {
    let metric = single(metrics::P95, &[1.0, 2.0]);
    assert_eq!((metric.slope(), metric.recovers()), (None, None));
    let gaps = vec![Some(1.0), None, Some(3.0), None, Some(5.0)];
    let metric = trends(&[(metrics::P95, gaps)]).remove(0);
    assert!((metric.slope().unwrap().value - 1.0).abs() < 1e-12);
    assert!(trends(&[(metrics::P95, vec![None; 5])]).is_empty());
}

#[test]
fn a_service_that_recovers_is_rarely_named() {
    let named = (0..400)
        .filter(|&seed| {
            let mut random = Seed(seed).generator();
            let series: Vec<(&str, Vec<Option<f64>>)> = GROWING
                .into_iter()
                .map(|name| {
                    let values =
                        (0..5).map(|_| Some(100.0 * (1.0 + random.random_range(-0.2..0.2))));
                    (name, values.collect())
                })
                .collect();
            let metrics = trends(&series);
            metrics
                .iter()
                .any(|metric| metric.recovers() == Some(false))
        })
        .count();
    // Half of 5 %: only growth is named.
    assert!(named <= 20, "{named} of 400");
}
