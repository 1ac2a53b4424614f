use plimsoll_analysis::tuning::{BestSetting, Rejected, RejectedWhy, RevertedKnob};
use plimsoll_model::experiment::ExperimentEnd;
use plimsoll_model::experiment::Knob;

use super::*;

/// A search over three knobs of which the first matters, the second a little, and nothing reads the third.
struct Fixture {
    knobs: Vec<Knob>,
    trials: Vec<TuneTrial>,
    outcome: TuneOutcome,
    users: Vec<UserRow>,
}

fn knob(name: &str, levels: &[&str]) -> Knob {
    Knob {
        name: name.to_owned(),
        levels: levels.iter().map(|level| (*level).to_owned()).collect(),
        numbers: vec![None; levels.len()],
        default: 0,
        usual: None,
        is_ordered: true,
        needs_restart: name == "workers",
        meaning: None,
    }
}

fn trial(index: u32, levels: [usize; 3], score: Score) -> TuneTrial {
    TuneTrial {
        index,
        levels: levels.to_vec(),
        purpose: "search",
        is_search: index == 0,
        began_s: f64::from(index) * 40.0,
        lasted_s: 40.0,
        reason: match score {
            Score::Failed => Some("app <died>".to_owned()),
            _ => None,
        },
        score,
    }
}

fn rejected(levels: [usize; 3], why: RejectedWhy, ratio: Option<f64>) -> Rejected {
    Rejected {
        levels: levels.to_vec(),
        why,
        ratio,
        is_at_least: ratio.is_some(),
    }
}

fn fixture() -> Fixture {
    let best = BestSetting {
        levels: vec![2, 1, 0],
        line: 812.0,
        is_at_least: false,
        low: 800.0,
        high: 830.0,
        default_line: 214.0,
        default_low: 210.0,
        default_high: 220.0,
        gain: 2.8,
        gain_low: 2.6,
        gain_high: 3.0,
        pairs: 6,
    };
    Fixture {
        knobs: vec![
            knob("workers", &["2", "4", "8"]),
            knob("pool", &["5", "16"]),
            knob("idle", &["30s", "60s"]),
        ],
        trials: vec![
            trial(0, [0, 0, 0], Score::Line(190.0)),
            trial(1, [0, 0, 0], Score::Line(214.0)),
            trial(2, [2, 1, 0], Score::Line(812.0)),
            trial(3, [1, 0, 1], Score::AtLeast(300.0)),
            trial(4, [2, 0, 1], Score::Failed),
            trial(5, [2, 0, 0], Score::Void),
        ],
        outcome: TuneOutcome {
            baseline: Some(190.0),
            best: Some(best),
            adopt: true,
            reason: "The gain is confirmed.".to_owned(),
            importance: vec![0.71, 0.285, 0.005],
            reverted: vec![RevertedKnob {
                knob: 2,
                cost: 0.004,
                together: 1,
            }],
            unshown: Vec::new(),
            rejected: vec![
                rejected([1, 0, 1], RejectedWhy::Slower, Some(1.4)),
                rejected([2, 0, 1], RejectedWhy::Failed, None),
            ],
            evaluations: 5,
            failed: 1,
            void: 1,
        },
        users: vec![
            UserRow {
                users: 100,
                result: UserRowResult::Confirmed {
                    levels: vec![1, 0, 0],
                    line: 300.0,
                },
            },
            UserRow {
                users: 3000,
                result: UserRowResult::NotReachable,
            },
        ],
    }
}

impl Fixture {
    fn report(&self) -> TuneReport<'_> {
        TuneReport {
            name: "site",
            started_at: "2026-11-27T10:00:00Z",
            seed: 7,
            state: ExperimentEnd::Complete,
            knobs: &self.knobs,
            load_unit: "req/s",
            objective: Some("p95 < 500ms".to_owned()),
            trials: &self.trials,
            outcome: &self.outcome,
            searches: SearchedLines {
                default: Some(SearchedLine {
                    low: 180.0,
                    line: 190.0,
                    high: 195.0,
                }),
                best: None,
            },
            next_limit: Some("CPU of app"),
            undone: true,
            applied: &[],
            by_hand: &[],
            users: &self.users,
            files: TuneFiles::default(),
            apply_command: "plimsoll tune site.yaml --apply",
        }
    }
}

#[test]
fn an_adopted_gain_is_a_sentence_with_its_difference() {
    let fixture = fixture();
    let mut report = fixture.report();
    let expected = "workers 2 → 8, pool 5 → 16: the service carries 812 req/s instead of 214 req/s, 3.8 times as much, \
                    between 3.6 times and 4 times with 95 % confidence, in 6 pairs of rising loads.";
    assert_eq!(sentence(&report), expected);
    let text = summary(&report, false);
    assert!(text.contains("none with the change"), "{text}");
    // A full search is a measurement apart: it changes neither the sentence nor the figures beside the gain.
    report.searches.best = Some(SearchedLine {
        low: 690.0,
        line: 700.0,
        high: 720.0,
    });
    assert_eq!(sentence(&report), expected);
    let text = summary(&report, false);
    let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let searches = "by full searches, apart from the pairs: 190 req/s (90 % interval 180 to 195) as it stands; 700 req/s (90 % \
                    interval 690 to 720) with the change";
    assert!(unwrapped.contains(searches), "{text}");
    for part in [
        "at least +40 % against what stands",
        "idle",
        "workers=8 idle=60s: the service failed: app <died>",
        "not reachable here",
        "CPU of app",
        "plimsoll tune site.yaml --apply",
        "back to what stands: that costs 0.4 %",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn lines_and_gain_of_the_object_are_of_the_same_trials() {
    let mut fixture = fixture();
    let object = TuneObject::of(&fixture.report());
    let best = object.best.unwrap();
    assert_eq!(
        (object.baseline, object.baseline_from),
        (Some(214.0), "pairs")
    );
    assert_eq!(
        (object.baseline_low, object.baseline_high),
        (Some(210.0), Some(220.0))
    );
    assert_eq!((best.line, best.line_from), (812.0, "pairs"));
    assert_eq!((best.low, best.high), (Some(800.0), Some(830.0)));
    let ratio = best.line / object.baseline.unwrap();
    let gains = 1.0 + best.gain_low.unwrap()..=1.0 + best.gain_high.unwrap();
    assert!(gains.contains(&ratio), "{ratio}");
    let searched = object.searches.baseline.unwrap();
    assert_eq!(
        (searched.low, searched.line, searched.high),
        (180.0, 190.0, 195.0)
    );
    assert_eq!(object.searches.best, None);
    // Without a setting to compare, the full search is all there is.
    fixture.outcome.best = None;
    fixture.outcome.adopt = false;
    let object = TuneObject::of(&fixture.report());
    assert_eq!(
        (object.baseline, object.baseline_from),
        (Some(190.0), "search")
    );
    assert_eq!(object.baseline_low, None);
}

#[test]
fn changes_that_nothing_shows_to_matter_are_marked() {
    let mut fixture = fixture();
    fixture.outcome.unshown = vec![1];
    fixture.outcome.reverted[0].together = 3;
    let text = summary(&fixture.report(), false);
    for part in [
        "not shown to matter",
        "back to what stands: 3 together cost 0.4 %",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let object = TuneObject::of(&fixture.report());
    assert!(object.settings["workers"].shown && !object.settings["pool"].shown);
    assert_eq!(object.reverted[0].together, 3);
    assert!(render(&fixture.report()).contains("The gain is that of all changes together"));
}

#[test]
fn a_kept_setting_says_why() {
    let mut fixture = fixture();
    fixture.outcome.adopt = false;
    fixture.outcome.reason = "The default is kept: no gain was confirmed.".to_owned();
    fixture.outcome.reverted.clear();
    let report = fixture.report();
    assert_eq!(sentence(&report), fixture.outcome.reason);
    let object = TuneObject::of(&report);
    assert!(!object.adopt);
    for knob in object.settings.values() {
        assert_eq!(knob.from, knob.to);
    }
    let mut knobs = object.settings.values();
    assert!(knobs.any(|knob| knob.remark.as_deref() == Some("no measurable effect")));
    let text = summary(&report, false);
    assert!(text.contains("no measurable effect"), "{text}");
    assert!(!text.contains("--apply"), "{text}");
}

#[test]
fn a_service_that_fails_as_it_stands_is_named() {
    let mut fixture = fixture();
    fixture.trials = vec![trial(0, [0, 0, 0], Score::Failed)];
    fixture.outcome.baseline = None;
    fixture.outcome.best = None;
    fixture.outcome.adopt = false;
    assert_eq!(
        sentence(&fixture.report()),
        "Nothing can be compared: with the settings that stand, app <died>."
    );
}

#[test]
fn the_object_has_the_stable_fields() {
    let fixture = fixture();
    let json: serde_json::Value =
        serde_json::from_str(&TuneObject::of(&fixture.report()).json()).unwrap();
    assert_eq!(json["baseline"], 214.0);
    assert_eq!(json["searches"]["baseline"]["line"], 190.0);
    assert_eq!(json["best"]["line"], 812.0);
    assert_eq!(json["best"]["gain_low"], 2.6);
    assert_eq!(json["settings"]["workers"]["to"], "8");
    assert_eq!(json["settings"]["idle"]["to"], "30s");
    assert_eq!(json["settings"]["pool"]["importance"], 0.285);
    assert_eq!(json["trials"]["measured"], 4);
    assert_eq!(json["rejected"][1]["why"], "failed");
    assert_eq!(json["rejected"][1]["detail"], "app <died>");
    assert_eq!(json["users"][0]["settings"]["workers"], "4");
    assert_eq!(json["users"][1]["result"], "not_reachable");
    assert_eq!(json["undone"], true);
}

#[test]
fn an_interval_without_trials_is_null() {
    let mut fixture = fixture();
    fixture.outcome.adopt = false;
    let best = fixture.outcome.best.as_mut().unwrap();
    (best.low, best.high, best.pairs) = (0.0, f64::INFINITY, 0);
    (best.default_low, best.default_high) = (0.0, f64::INFINITY);
    (best.gain_low, best.gain_high) = (-1.0, f64::INFINITY);
    let page = render(&fixture.report());
    assert!(page.contains("3.8 times, not confirmed"));
    let object = TuneObject::of(&fixture.report());
    let best = object.best.unwrap();
    assert_eq!((best.low, best.gain_low), (None, None));
}

#[test]
fn the_settings_are_a_file_with_their_origin() {
    let fixture = fixture();
    let source = TunedSource {
        experiment: "/srv/a \"b\".yaml".to_owned(),
        within: std::time::Duration::from_mins(20),
        files: [
            ("/etc/app.conf".to_owned(), Some("sha256:0a".to_owned())),
            ("/etc/new.conf".to_owned(), None),
        ]
        .into(),
        version: "0.1.0".to_owned(),
    };
    let text = settings_file(&fixture.report(), &source);
    for line in [
        "tuned: 1",
        "experiment: \"/srv/a \\\"b\\\".yaml\"",
        "within: 1200000ms",
        "adopt: true",
        "  \"workers\": \"8\" # 71 % of the differences",
        "  \"workers\": \"2\"",
        "  \"/etc/app.conf\": \"sha256:0a\"",
        "  \"/etc/new.conf\": none",
    ] {
        assert!(text.lines().any(|have| have == line), "{line}: {text}");
    }
}

#[test]
fn the_page_is_whole_and_escapes_what_a_service_says() {
    let fixture = fixture();
    let page = render(&fixture.report());
    assert!(page.contains("app &lt;died&gt;"));
    assert!(!page.contains("<died>"));
    for part in ["not reachable here", "workers=8 pool=16", "put back"] {
        assert!(page.contains(part), "{part}");
    }
}
