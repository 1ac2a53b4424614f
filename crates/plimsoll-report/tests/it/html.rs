//! The HTML report: its content, its escaping, its size and speed.

use std::collections::BTreeMap;

use plimsoll_model::metric::{self, series};
use plimsoll_model::reading::{Readings, SeriesTable};
use plimsoll_model::run::Run;
use plimsoll_report::json::{Files, run_object};
use plimsoll_report::{Report, html};

use crate::runs;

fn render(run: &Run) -> String {
    html::render(&Report::of(run))
}

/// Every kind of run that a report supports.
pub(crate) fn every_run() -> Vec<(&'static str, Run)> {
    vec![
        ("search", runs::search()),
        ("plain", runs::plain(400.0, 60)),
        ("sweep", runs::sweep()),
        ("detailed", runs::detailed()),
        ("failing", runs::plain_failing()),
        ("void", runs::plain_void()),
        ("void search", runs::search_void()),
        ("no line", runs::search_without_line()),
        ("gate", runs::gate()),
        ("search in users", runs::search_users()),
        ("users", runs::users()),
        ("users missed", runs::users_missed()),
        ("websockets", runs::websockets()),
        ("hostile", runs::hostile()),
        ("one window", runs::plain(400.0, 1)),
        ("header of a run", runs::header_only("run")),
        ("header of a search", runs::header_only("limit")),
    ]
}

#[test]
fn every_run_renders_with_its_answer_as_the_heading() {
    for (name, run) in every_run() {
        let page = render(&run);
        assert_eq!(page.matches("<h1").count(), 1, "{name}");
        assert_eq!(page.matches("<main>").count(), 1, "{name}");
        assert!(!page.contains("NaN"), "{name}");
        assert!(!page.contains("inf%"), "{name}");
    }
}

#[test]
fn nothing_points_outside() {
    for (name, run) in every_run() {
        let page = render(&run);
        for reference in [
            " src=",
            "<link",
            "<iframe",
            "<form",
            "url(",
            "@import",
            "fetch(",
            "XMLHttpRequest",
        ] {
            let hostile = name == "hostile" && reference == " src=";
            assert!(hostile || !page.contains(reference), "{name}: {reference}");
        }
        let links = page.matches(" href=").count();
        assert_eq!(links, page.matches(" href=\"#").count(), "{name}");
        assert!(
            page.contains("default-src &#39;none&#39;") || page.contains("default-src 'none'"),
            "{name}"
        );
    }
}

#[test]
fn hostile_text_stays_text() {
    let page = render(&runs::hostile());
    assert!(!page.contains("<script>alert"));
    assert!(!page.contains("<img"));
    assert!(page.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
    assert_eq!(
        page.matches("</script>").count(),
        2,
        "the data and the script"
    );
}

#[test]
fn every_trial_is_marked() {
    let run = runs::search();
    let page = render(&run);
    for verdict in ["pass", "fail", "void"] {
        let marks = page
            .matches(&format!("<svg class=\"mark {verdict}"))
            .count();
        let trials = run
            .trials
            .iter()
            .filter(|trial| trial.verdict.name() == verdict)
            .count();
        assert!(trials > 0);
        assert_eq!(marks, trials, "{verdict}");
    }
}

#[test]
fn a_void_run_says_so_before_anything_else() {
    let page = render(&runs::plain_void());
    let notice = page.find("This measurement is void").unwrap();
    assert!(notice < page.find("<h1").unwrap());
    assert!(!render(&runs::plain(400.0, 5)).contains("This measurement is void"));
    assert!(render(&runs::plain_failing()).contains("--insecure"));
}

#[test]
fn an_hour_is_small() {
    let page = render(&runs::plain(100.0, 3600));
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
    // 3,600 seconds are merged to at most 600 points.
    assert!(page.contains("Each point covers 10 s"));
}

#[test]
fn every_step_has_a_row_and_a_picture() {
    let page = render(&runs::users());
    let table = &page[page.find("id=\"table-steps\"").unwrap()..];
    let table = &table[..table.find("</table>").unwrap()];
    assert_eq!(table.matches("<th scope=\"row\">").count(), 8);
    assert_eq!(table.matches(">once</span>").count(), 1);
    assert_eq!(page.matches("<figure>").count(), 8);
    assert!(page.contains("Users over time"));
    assert_eq!(page.matches("✓ met").count(), 5);
    assert!(!page.contains("Some failures in full"));
    assert!(!page.contains("Users who gave up"));
    assert!(render(&runs::users_impatient()).contains("Users who gave up"));
    let missed = render(&runs::users_missed());
    assert!(missed.contains("✗ missed") && missed.contains("Some failures in full"));
    assert!(missed.contains("&lt;form action=") && !missed.contains("<form"));
}

#[test]
fn a_sweep_has_a_mark_and_a_row_for_every_rate() {
    let page = render(&runs::sweep());
    assert_eq!(page.matches("<svg class=\"mark ").count(), 8);
    assert!(page.contains("<svg class=\"mark pass\"") && page.contains("<svg class=\"mark fail\""));
    assert!(page.contains("<th scope=\"row\">960 req/s</th>"));
}

#[test]
fn statements_that_cost_most_are_told_with_the_index_they_lack() {
    let mut run = runs::plain(400.0, 20);
    assert!(!render(&run).contains("The statements that cost most"));
    let of = |metric: &str, plan: Option<&str>| {
        let labels = [
            ("at", "db:5432"),
            ("statement", "SELECT n FROM items WHERE id = ?"),
        ];
        let plan = plan.map(|plan| ("plan", plan));
        let labels: Vec<_> = labels.into_iter().chain(plan).collect();
        series(metric, &labels)
    };
    let mut readings = SeriesTable::default();
    for window in &run.windows {
        readings.push(&Readings {
            second: window.second,
            values: BTreeMap::from([
                (of(metric::STATEMENT_CALLS, None), 12.0 * window.sent as f64),
                (of(metric::STATEMENT_TIME, None), 0.048 * window.sent as f64),
                (of(metric::STATEMENT_PLAN, Some("Seq Scan on items")), 17.5),
            ]),
            new_series: BTreeMap::new(),
        });
    }
    run.readings = readings;
    let page = render(&run);
    for expected in [
        "The statements that cost most",
        "SELECT n FROM items WHERE id = ?",
        "repeated 12 times in each request",
        "plan: Seq Scan on items",
        "CREATE INDEX CONCURRENTLY ON items (id)",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
    assert!(!page.contains("NaN"));
}

#[test]
fn advice_has_the_statements_that_do_it() {
    let mut run = runs::plain(400.0, 90);
    assert!(!render(&run).contains("What the service sends"));
    let of = |metric: &str| {
        let statement = "SELECT topic, count(*) FROM articles GROUP BY topic";
        series(metric, &[("at", "db:5432"), ("statement", statement)])
    };
    let mut readings = SeriesTable::default();
    for window in &mut run.windows {
        // A hundred bytes more each second.
        window.bytes_in = window.completed() * (1000 + 100 * u64::from(window.second));
        readings.push(&Readings {
            second: window.second,
            values: BTreeMap::from([
                (of(metric::STATEMENT_CALLS), window.sent as f64),
                (of(metric::STATEMENT_TIME), 0.02 * window.sent as f64),
                (of(metric::STATEMENT_ROWS), 5.0 * window.sent as f64),
            ]),
            new_series: BTreeMap::new(),
        });
    }
    run.readings = readings;
    let page = render(&run);
    for expected in [
        "an aggregate over many rows is what costs",
        "CREATE TRIGGER keep_articles_by_topic AFTER INSERT OR DELETE OR UPDATE OF topic ON articles",
        "What the service sends",
        "the answers grew by 6.0 kB each minute",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
    let object = serde_json::to_value(run_object(&Report::of(&run), &Files::default())).unwrap();
    let advice = object["advice"].as_array().unwrap();
    let about: Vec<&str> = advice
        .iter()
        .filter_map(|advice| advice["about"].as_str())
        .collect();
    assert_eq!(about, ["statement", "payload"]);
    assert!(
        advice[0]["sql"]
            .as_str()
            .unwrap()
            .contains("GROUP BY topic"),
        "{advice:#?}"
    );
    assert!(advice[0]["saves_ms"].as_f64().unwrap() > 19.0 && advice[1]["sql"].is_null());
}
