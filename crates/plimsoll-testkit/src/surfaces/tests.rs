//! The surfaces themselves.

use std::collections::BTreeSet;

use super::*;

#[test]
fn there_are_twenty_of_three_to_eight_knobs() {
    let ids: BTreeSet<&str> = all().map(ResponseSurface::id).collect();
    assert_eq!((all().count(), ids.len()), (20, 20));
    for surface in all() {
        let knobs = surface.knobs();
        assert!((3..=8).contains(&knobs.len()), "{}", surface.id());
        for knob in knobs {
            assert!(
                (2..=8).contains(&knob.levels()),
                "{}: {}",
                surface.id(),
                knob.name
            );
            assert!(
                knob.default < knob.levels(),
                "{}: {}",
                surface.id(),
                knob.name
            );
            if let KnobValues::Ordered(values) = knob.values {
                assert!(values.is_sorted(), "{}: {}", surface.id(), knob.name);
            }
        }
    }
}

/// Where there is a gain, it is at least a fifth, and at most one setting in twelve is as good as the best.
#[test]
fn the_best_is_far_from_the_default_and_rare_or_there_is_none() {
    for surface in all() {
        let best = surface.best();
        let default = surface.line(&surface.default_setting(), 0.0).unwrap();
        let gain = best.line / default;
        let (mut good, mut failed, settings) = (0, 0, surface.settings());
        surface.each(|_, line| {
            good += usize::from(line.is_some_and(|line| line >= 0.95 * best.line));
            failed += usize::from(line.is_none());
        });
        println!(
            "{}: {} knobs, {settings} settings, {good} good, {failed} failed, gain {gain:.3}, best {:?}",
            surface.id(),
            surface.knobs().len(),
            best.setting
        );
        if surface.is_without_gain() {
            assert!(gain <= 1.005, "{}: {gain}", surface.id());
        } else {
            assert!(gain >= 1.2, "{}: {gain}", surface.id());
            assert!(
                good * 12 <= settings,
                "{}: {good} of {settings}",
                surface.id()
            );
        }
    }
}

/// Each knob can change something, except those of the surface whose limit is elsewhere.
#[test]
fn every_knob_matters_somewhere() {
    for surface in all().filter(|surface| !surface.is_without_gain()) {
        for (place, knob) in surface.knobs().iter().enumerate() {
            let mut matters = false;
            surface.each(|setting, line| {
                if setting[place] > 0 && !matters {
                    let mut lower = setting.to_vec();
                    lower[place] -= 1;
                    matters = surface.line(&lower, 0.0) != line;
                }
            });
            assert!(matters, "{}: {}", surface.id(), knob.name);
        }
    }
}

#[test]
fn all_settings_drift_alike() {
    for surface in all() {
        let default = surface.default_setting();
        let best = surface.best().setting;
        let ratio =
            |at_s: f64| surface.line(&best, at_s).unwrap() / surface.line(&default, at_s).unwrap();
        assert!(
            (ratio(0.0) / ratio(7_000.0) - 1.0).abs() < 1e-9,
            "{}",
            surface.id()
        );
    }
}

#[test]
fn noise_is_lognormal_with_five_per_cent_and_repeats() {
    let surface = all().next().unwrap();
    let setting = surface.default_setting();
    let line = surface.line(&setting, 0.0).unwrap();
    let logarithm = |trial: u64| {
        let measured = surface.measured(&setting, 0.0, Seed(1), trial).unwrap();
        (measured / line).ln()
    };
    let values: Vec<f64> = (0..10_000).map(logarithm).collect();
    let mean = values.iter().sum::<f64>() / 10_000.0;
    let variance = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / 9_999.0;
    // Five standard errors each.
    assert!(mean.abs() < 0.0025, "{mean}");
    assert!((variance.sqrt() / NOISE - 1.0).abs() < 0.036, "{variance}");
    assert!((logarithm(7) - values[7]).abs() < 1e-15);
}
