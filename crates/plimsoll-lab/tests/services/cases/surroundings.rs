//! What surrounds a trial: settings of components, the edge, stores, and rest.

use std::fs;

use plimsoll_lab::service::{ApplyFaultKind, ExperimentServices};
use plimsoll_model::component::{Component, ComponentAddress, ComponentKind, Tunable};
use plimsoll_probe::tunables;
use plimsoll_testkit::program::Redis;

use crate::fixture::{Fixture, get};

pub(crate) const ALL: &[super::Case] = &[
    (
        "a_setting_is_changed_and_put_back",
        a_setting_is_changed_and_put_back,
    ),
    (
        "an_edge_stands_in_front_of_the_service",
        an_edge_stands_in_front_of_the_service,
    ),
    ("stores_are_reset", stores_are_reset),
    (
        "a_machine_at_rest_is_not_waited_for_long",
        a_machine_at_rest_is_not_waited_for_long,
    ),
];

fn a_setting_is_changed_and_put_back() {
    let fixture = Fixture::new();
    let redis = Redis::start("maxclients 100");
    let place = ComponentAddress::Tcp {
        host: redis.address.ip().to_string(),
        port: redis.address.port(),
    };
    let tunable = Tunable {
        kind: ComponentKind::Redis,
        place: place.clone(),
        setting: "maxclients".to_owned(),
        of: String::new(),
    };
    let now = || tunables::value_of(&tunable, None).unwrap();
    let text = "axes: { clients: [200, many] }\n\
                measure: { url: \"http://127.0.0.1:1/\", loads: [10/s], for: 1s }\n\
                apply:\n  - set: { component: redis, setting: maxclients, to: \"{{ clients }}\" }\n";
    let mut unknown = fixture.open(text);
    let refused = unknown.apply(0).unwrap_err().to_string();
    assert!(
        refused.contains("no such component is watched"),
        "{refused}"
    );
    drop(unknown);
    let mut context = fixture.context();
    context.access.components = vec![Component {
        kind: ComponentKind::Redis,
        place,
        login: None,
    }];
    let mut services = ExperimentServices::open(fixture.experiment(text), context).unwrap();
    let service = services.apply(0).unwrap();
    assert_eq!(now(), "200");
    service.stop().unwrap();
    assert_eq!(now(), "100");
    let refused = services.apply(1).unwrap_err();
    assert_eq!(refused.kind(), ApplyFaultKind::Setting);
    assert!(
        refused.to_string().contains("set maxclients of Redis"),
        "{refused}"
    );
    assert_eq!(now(), "100");
    fixture.is_clean();
}

fn an_edge_stands_in_front_of_the_service() {
    let fixture = Fixture::new();
    fixture.write("a.yaml", b"");
    let text = fixture.serving("edge: \"{{ level }}.yaml\"", "");
    let mut services = fixture.open(&text);
    let mut service = services.apply(0).unwrap();
    service.ready().unwrap();
    let edge = service.edge().unwrap();
    assert!(!edge.is_secure);
    assert_eq!(get(edge.address.port(), "/"), " ");
    assert_eq!(
        service.processes().len(),
        1,
        "that of the edge is not the service's"
    );
    service.stop().unwrap();
    assert_eq!(get(edge.address.port(), "/"), "");
    fixture.is_clean();
    drop(services);
    let none = fixture.serving("edge: none", "");
    let mut services = fixture.open(&none);
    let service = services.apply(0).unwrap();
    assert_eq!(service.edge(), None);
    drop(service);
    drop(services);
    let broken = fixture.serving("edge: broken", "");
    let mut services = fixture.open(&broken);
    let refused = services.apply(0).unwrap_err();
    assert_eq!(refused.kind(), ApplyFaultKind::Edge);
    assert!(refused.to_string().contains("is broken"), "{refused}");
    fixture.is_clean();
}

fn stores_are_reset() {
    let fixture = Fixture::new();
    let script = "echo reset >> resets";
    let reset = format!("reset: [sh, -c, {script:?}]");
    let mut services = fixture.open(&fixture.serving("", &reset));
    for _ in 0..2 {
        let mut service = services.apply(0).unwrap();
        service.ready().unwrap();
        service.reset().unwrap();
    }
    let resets = fs::read_to_string(fixture.base().join("resets")).unwrap();
    assert_eq!(resets, "reset\nreset\n");
    drop(services);
    for (script, within, words) in [
        (
            "echo no such table; exit 1",
            "20s",
            "exit code 1: no such table",
        ),
        ("exec sleep 1000", "200ms", "took longer than 200ms"),
    ] {
        let reset = format!("reset: {{ command: [sh, -c, {script:?}], within: {within} }}");
        let mut services = fixture.open(&fixture.serving("", &reset));
        let mut service = services.apply(0).unwrap();
        service.ready().unwrap();
        let failed = service.reset().unwrap_err();
        assert_eq!(failed.kind(), ApplyFaultKind::Reset);
        assert!(failed.to_string().contains(words), "{failed}");
        service.stop().unwrap();
        fixture.is_clean();
    }
}

fn a_machine_at_rest_is_not_waited_for_long() {
    let fixture = Fixture::new();
    let text = fixture.serving("", "").replace("settle: 0s", "settle: 3s");
    let mut services = fixture.open(&text);
    let mut service = services.apply(0).unwrap();
    service.ready().unwrap();
    let settled = service.settle().unwrap();
    // Other work may go on here: then that is named, and the limit holds, but for the time for which this thread stood still.
    assert!(settled.waited.as_secs() <= 30, "{settled:?}");
    assert!(
        settled.restless.is_empty() || settled.waited.as_secs() >= 3,
        "{settled:?}"
    );
    service.stop().unwrap();
    fixture.is_clean();
}
