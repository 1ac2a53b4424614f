//! The collector of Varnish on a real one.

use plimsoll_model::component::{ComponentAddress, ComponentKind};
use plimsoll_model::metric::{self, series};
use plimsoll_model::reading::Readings;
use plimsoll_testkit::program::engines::Varnish;

use crate::collectors::fixture::CollectorFixture;

#[test]
fn varnish_is_seen_by_the_command_that_was_named() {
    let varnish = Varnish::start(10, "127.0.0.1:1".parse().unwrap());
    let place = ComponentAddress::Command(varnish.command());
    let at = place.to_string();
    let mut watched = CollectorFixture::of(ComponentKind::Varnish, place, "", "");
    let threads = series(metric::VARNISH_THREADS, &[("at", at.as_str())]);
    // They are created one after the other, and one more than configured.
    let has_all =
        |readings: &Readings| readings.values.get(&threads).is_some_and(|&all| all >= 5.0);
    watched.scrape_until(has_all);
    assert_eq!(watched.notes(), "");
    let place = ComponentAddress::Command("varnishstat -j -t 0 -n /no/such/folder".to_owned());
    let mut watched = CollectorFixture::of(ComponentKind::Varnish, place, "", "");
    watched.scrape();
    let notes = watched.notes();
    assert!(notes.contains("adduser USER varnish"), "{notes}");
}
