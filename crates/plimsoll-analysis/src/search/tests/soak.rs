//! The long trial after a thorough search.

use super::*;

/// A thorough search of a sharp line whose soak ends like this; its remarks.
fn soak_with_note(verdict: &TrialVerdict) -> (Vec<TrialSpec>, String) {
    let mut soaks = Vec::new();
    let mut target = sharp(333.0);
    let (result, _) = run(SearchParameters::thorough(objective()), |spec, second| {
        if spec.kind != TrialKind::Soak {
            return target(spec, second);
        }
        soaks.push(*spec);
        trial(*spec, second, verdict.clone())
    });
    let verified = result.line.unwrap().verified;
    for soak in &soaks {
        assert!((soak.rate / verified - 0.9).abs() < 1e-3, "{soak:?}");
        assert_eq!(soak.measure_s, 600);
    }
    (soaks, format!("{:?}", result.remarks))
}

#[test]
fn a_thorough_search_ends_with_ten_minutes_below_the_line() {
    let (soaks, remarks) = soak_with_note(&TrialVerdict::Pass);
    assert_eq!(soaks.len(), 1);
    assert!(remarks.contains("held the objective"), "{remarks}");
}

#[test]
fn a_soak_that_fails_leaves_the_line_and_warns() {
    let (soaks, remarks) = soak_with_note(&fail());
    assert_eq!(soaks.len(), 1);
    assert!(remarks.contains("do not rely on this line"), "{remarks}");
}
