//! Controllers, timers and thread groups.

use super::{element, get, import, jmx, jmx_with, losses, steps};

/// The steps of the controllers below.
const CONTROLLERS: &str = r#"steps:
  - get: /first
    label: /first
    capture: { token: { json: "$.token" } }
  - group: Checkout
    steps:
      - get: /cart
        label: /cart
  - repeat: 3
    steps:
      - get: /item
        label: /item
  - choose:
      - weight: 25
        steps:
          - get: /rare
            label: /rare
      - weight: 75
        steps: []
  - choose:
      - weight: 1
        steps:
          - get: /x
            label: /x
      - weight: 1
        steps:
          - get: /y
            label: /y
  - if: "{{ token }} == 'yes'"
    then:
      - get: /z
        label: /z
  - choose:
      - weight: 1
        steps:
          - get: /1
            label: /1
      - weight: 1
        steps:
          - get: /2
            label: /2"#;

#[test]
fn controllers_become_steps() {
    let percent = "<ThroughputController testclass=\"ThroughputController\" testname=\"some\"><intProp name=\"ThroughputController.style\">1</intProp>\
        <FloatProperty><name>ThroughputController.percentThroughput</name><value>25.0</value><savedValue>0.0</savedValue></FloatProperty>\
        </ThroughputController><hashTree>"
        .to_owned()
        + &get("/rare", "")
        + "</hashTree>";
    let inside = element("OnceOnlyController", "once", &[], &get("/login", ""))
        + &element("TransactionController", "Checkout", &[], &get("/cart", ""))
        + &element(
            "LoopController",
            "l",
            &[("LoopController.loops", "3")],
            &get("/item", ""),
        )
        + &percent
        + &element(
            "RandomController",
            "r",
            &[],
            &(get("/x", "") + &get("/y", "")),
        )
        + &element(
            "IfController",
            "i",
            &[(
                "IfController.condition",
                "${__jexl3(&quot;${token}&quot; == &quot;yes&quot;)}",
            )],
            &get("/z", ""),
        )
        + &element(
            "InterleaveControl",
            "turns",
            &[],
            &(get("/1", "") + &get("/2", "")),
        );
    let capture = element(
        "JSONPostProcessor",
        "j",
        &[
            ("JSONPostProcessor.referenceNames", "token"),
            ("JSONPostProcessor.jsonPathExprs", "$.token"),
        ],
        "",
    );
    let imported = import(&jmx(&(get("/first", &capture) + &inside)), &[]);
    assert_eq!(
        losses(&imported),
        [
            "Interleave Controller \"turns\": its parts take turns; here each iteration takes one of them at random, each equally often"
        ]
    );
    assert!(
        imported.plan.contains("once:\n  - get: /login\n"),
        "{}",
        imported.plan
    );
    assert_eq!(steps(&imported), CONTROLLERS);
}

#[test]
fn timers_wait_before_every_sampler_in_their_scope() {
    let timer = element("ConstantTimer", "c", &[("ConstantTimer.delay", "300")], "");
    let random = element(
        "UniformRandomTimer",
        "u",
        &[
            ("ConstantTimer.delay", "100"),
            ("RandomTimer.range", "900.0"),
        ],
        "",
    );
    let pause = element(
        "TestAction",
        "p",
        &[
            ("ActionProcessor.action", "1"),
            ("ActionProcessor.duration", "${__Random(1000,2000)}"),
        ],
        "",
    );
    let inside = get("/a", &random) + &get("/b", "") + &pause + &timer;
    let imported = import(&jmx(&inside), &[]);
    assert_eq!(losses(&imported), [""; 0]);
    assert_eq!(
        steps(&imported),
        "steps:\n  - think: 300ms\n  - think: 100ms..1s\n  - get: /a\n    label: /a\n  - think: 300ms\n  - get: /b\n    label: /b\n  - think: 300ms\n  - think: 1s..2s"
    );
}

fn group(name: &str, class: &str, properties: &str, path: &str) -> String {
    format!(
        "<{class} testclass=\"{class}\" testname=\"{name}\">{properties}</{class}><hashTree>{}</hashTree>",
        get(path, "")
    )
}

#[test]
fn thread_groups_become_journeys_and_phases() {
    let standard = "<stringProp name=\"ThreadGroup.num_threads\">4</stringProp><stringProp name=\"ThreadGroup.ramp_time\">2</stringProp>\
        <boolProp name=\"ThreadGroup.scheduler\">true</boolProp><stringProp name=\"ThreadGroup.duration\">10</stringProp>\
        <elementProp name=\"ThreadGroup.main_controller\"><intProp name=\"LoopController.loops\">-1</intProp></elementProp>";
    let ultimate = "<collectionProp name=\"ultimatethreadgroupdata\"><collectionProp name=\"1\"><stringProp name=\"a\">6</stringProp>\
        <stringProp name=\"b\">2</stringProp><stringProp name=\"c\">0</stringProp><stringProp name=\"d\">8</stringProp><stringProp name=\"e\">0</stringProp></collectionProp></collectionProp>";
    let setup = group("prepare", "SetupThreadGroup", "", "/prepare");
    let imported = import(
        &jmx_with(
            &(group("Readers", "ThreadGroup", standard, "/r")
                + &group("Writers", "kg.apc.UltimateThreadGroup", ultimate, "/w")
                + &setup),
            "",
        ),
        &[],
    );
    let found = losses(&imported);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("setUp Thread Group \"prepare\""),
        "{found:?}"
    );
    assert!(
        imported.plan.contains(
            "load:\n  - users: 0..4\n    for: 2s\n    mix: { Readers: 2 }\n  - users: 10\n    for: 8s\n    mix: { Readers: 4, Writers: 6 }\n"
        ),
        "{}",
        imported.plan
    );
    assert!(
        imported
            .plan
            .contains("  Writers:\n    weight: 6\n    cookies: false\n"),
        "{}",
        imported.plan
    );
}
