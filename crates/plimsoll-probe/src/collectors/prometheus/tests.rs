//! Metrics pages of a real program.

use plimsoll_model::component::{Component, ComponentAddress, ComponentKind, GaugeLimit, Selector};
use plimsoll_model::metric::{self, series};
use plimsoll_testkit::program::Haproxy;

use crate::collectors::ComponentMetadata;
use crate::collectors::fixture::{CollectorFixture, LONG};

#[test]
fn chosen_series_of_a_page_are_seen_and_missing_ones_are_told() {
    let web = "http-request use-service prometheus-exporter if { path /metrics }";
    let haproxy = Haproxy::start(web, "  server s1 127.0.0.1:1");
    let chosen = [
        "haproxy_process_nbthread",
        "haproxy_frontend_sess*{proxy=web}",
        "haproxy_dreams",
    ];
    let place = ComponentAddress::Figures {
        host: haproxy.address.ip().to_string(),
        port: haproxy.address.port(),
        path: "/metrics".to_owned(),
        series: chosen
            .iter()
            .filter_map(|text| Selector::parse(text))
            .collect(),
    };
    let at = place.to_string();
    let mut watched = CollectorFixture::of(ComponentKind::Prometheus, place, "", "");
    watched.scrape();
    let values = watched.scrape().values;
    let level = series(
        metric::FIGURES_LEVEL,
        &[("at", &at), ("name", "haproxy_process_nbthread")],
    );
    assert!(
        values.get(&level).is_some_and(|&threads| threads >= 1.0),
        "{values:#?}"
    );
    let labels = [
        ("at", at.as_str()),
        ("name", "haproxy_frontend_sessions_total"),
        ("of", "proxy:web"),
    ];
    // Each sample is a session.
    let increase = series(metric::FIGURES_INCREASE, &labels);
    assert!(
        values
            .get(&increase)
            .is_some_and(|&sessions| sessions > 0.0),
        "{values:#?}"
    );
    let notes = watched.notes();
    let expected = ["haproxy_dreams is not among the", "similar names: haproxy_"];
    assert!(expected.iter().all(|text| notes.contains(text)), "{notes}");
    assert_eq!(notes.lines().count(), 1, "{notes}");
}

#[test]
fn a_gauge_with_a_limit_needs_no_choice() {
    let web = "http-request use-service prometheus-exporter if { path /metrics }";
    let haproxy = Haproxy::start(web, "  server s1 127.0.0.1:1");
    let place = ComponentAddress::Figures {
        host: haproxy.address.ip().to_string(),
        port: haproxy.address.port(),
        path: "/metrics".to_owned(),
        series: Vec::new(),
    };
    let at = place.to_string();
    let component = Component {
        kind: ComponentKind::Prometheus,
        place,
        login: None,
    };
    let gauge = Selector::of_meter("haproxy_process_nbthread").unwrap();
    let mut watched = CollectorFixture::comparing(
        vec![(component, ComponentMetadata::default())],
        vec![GaugeLimit::new(gauge, 64.0).unwrap()],
        LONG,
    );
    let values = watched.scrape().values;
    let labels = [("at", at.as_str()), ("name", "haproxy_process_nbthread")];
    let [level, limit] = [metric::FIGURES_LEVEL, metric::FIGURES_LIMIT]
        .map(|metric| values.get(&series(metric, &labels)).copied());
    assert!(level.is_some_and(|threads| threads >= 1.0), "{values:#?}");
    assert_eq!(limit, Some(64.0));
    assert_eq!(watched.notes(), "");
}
