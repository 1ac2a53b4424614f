//! Searches whose load several hosts carry, of which one is lost.

use super::*;

/// A thorough search that cannot go on from its first trial of a phase on.
fn given_up_in(phase: &str) -> SearchResult {
    let mut search = Search::new(SearchParameters::thorough(objective()), Seed(1));
    let mut target = sharp(333.0);
    let mut second = 0;
    loop {
        let SearchStep::Trial(spec) = search.next_step() else {
            panic!("it ended before the {phase} phase");
        };
        if search.stage().name == phase {
            let why = "worker b was lost at second 7".to_owned();
            return search.give_up(VoidReason::CutShort { why });
        }
        let trial = target(&spec, second);
        second += spec.offered_s() + 1;
        search.record(&trial, Duration::from_secs(u64::from(second)));
    }
}

#[test]
fn a_search_that_cannot_go_on_is_void_unless_its_line_is_confirmed() {
    let early = given_up_in("refine");
    assert!(
        matches!(
            &early.line,
            Err(NoLine::Void {
                reason: VoidReason::CutShort { .. },
                ..
            })
        ),
        "{early:?}"
    );
    let late = given_up_in("soak");
    assert!(late.line.is_ok(), "{late:?}");
    let remarks = format!("{:?}", late.remarks);
    assert!(remarks.contains("ended in the soak phase"), "{remarks}");
    assert!(remarks.contains("worker b was lost"), "{remarks}");
}
