//! Several scenarios at once.

use super::{imported_with, losses, without_comments};

/// The plan of scenarios whose functions are `one` and `two`, and its losses.
#[track_caller]
fn scenarios(list: &str) -> (String, Vec<String>) {
    let text = format!(
        "import http from 'k6/http';\nexport const options = {{ scenarios: {{\n{list}\n}} }};\n\
         export function one() {{ http.get('https://a.test/1'); }}\nexport function two() {{ http.get('https://a.test/2'); }}\n"
    );
    let imported = imported_with(&text, &[]).unwrap();
    let losses = imported.losses.iter().map(ToString::to_string);
    (without_comments(&imported.plan), losses.collect())
}

#[track_caller]
fn assert_contains(plan: &str, parts: &[&str]) {
    for part in parts {
        assert!(plan.contains(part), "{part}\nis not in\n{plan}");
    }
}

#[test]
fn scenarios_become_phases_with_a_mix() {
    let (plan, losses) = scenarios(
        "a: { executor: 'constant-vus', vus: 10, duration: '1m', exec: 'one' },\n\
         b: { executor: 'ramping-vus', startVUs: 0, startTime: '1m', stages: [{ duration: '30s', target: 20 }], exec: 'two' }",
    );
    assert_eq!(losses, [""; 0]);
    assert_contains(
        &plan,
        &[
            "    - users: \"10\"\n      for: 1m\n      mix: { a: 10 }\n",
            "    - users: \"0..20\"\n      for: 30s\n      mix: { b: 10 }\n",
        ],
    );
}

#[test]
fn a_ramp_beside_constant_users_changes_the_mix_in_parts() {
    let (plan, losses) = scenarios(
        "a: { executor: 'constant-vus', vus: 10, duration: '80s', exec: 'one' },\n\
         b: { executor: 'ramping-vus', startVUs: 0, startTime: '40s', stages: [{ duration: '40s', target: 40 }], exec: 'two' }",
    );
    assert_eq!(losses, [""; 0]);
    assert_contains(
        &plan,
        &[
            "    - users: \"10\"\n      for: 40s\n      mix: { a: 10 }\n",
            "    - users: \"10..20\"\n      for: 10s\n      mix: { a: 10, b: 5 }\n",
            "    - users: \"40..50\"\n      for: 10s\n      mix: { a: 10, b: 35 }\n",
        ],
    );
}

#[test]
fn rates_add_up() {
    let (plan, losses) = scenarios(
        "a: { executor: 'constant-arrival-rate', rate: 10, duration: '1m', preAllocatedVUs: 5, exec: 'one' },\n\
         b: { executor: 'constant-arrival-rate', rate: 30, duration: '1m', preAllocatedVUs: 5, exec: 'two' }",
    );
    assert_eq!(losses, [""; 0]);
    assert_contains(
        &plan,
        &[
            "sessions: \"40/s\"",
            "spacing: even",
            "weight: 10",
            "weight: 30",
        ],
    );
    assert!(!plan.contains("mix"), "{plan}");
}

#[test]
fn a_pause_between_scenarios_has_no_mix() {
    let (plan, losses) = scenarios(
        "a: { executor: 'constant-vus', vus: 4, duration: '10s', exec: 'one' },\n\
         b: { executor: 'constant-vus', vus: 6, startTime: '30s', duration: '10s', exec: 'two' }",
    );
    assert_eq!(losses, [""; 0]);
    assert_contains(
        &plan,
        &[
            "      mix: { a: 4 }\n",
            "    - users: \"0\"\n      for: 20s\n    - users: \"6\"\n      for: 10s\n      mix: { b: 6 }\n",
        ],
    );
}

#[test]
fn of_several_kinds_the_one_with_the_most_iterations_stays() {
    let few_users = "a: { executor: 'constant-vus', vus: 2, duration: '1m', exec: 'one' },\n\
        b: { executor: 'constant-arrival-rate', rate: 50, duration: '1m', preAllocatedVUs: 5, exec: 'two' }";
    let (plan, losses) = scenarios(few_users);
    assert!(plan.contains("sessions: \"50/s\""), "{plan}");
    let [loss] = &losses[..] else {
        panic!("{losses:#?}");
    };
    assert!(
        loss.contains("lost: the scenario a: ") && loss.contains("the arrival rate of b"),
        "{loss}"
    );
    // Also where they do not overlap: a load of a plan is of one kind.
    let (plan, losses) = scenarios(
        "a: { executor: 'constant-vus', vus: 90, duration: '1m', exec: 'one' },\n\
         b: { executor: 'constant-arrival-rate', rate: 50, startTime: '2m', duration: '1m', preAllocatedVUs: 5, exec: 'two' },\n\
         c: { executor: 'shared-iterations', vus: 1, iterations: 3, exec: 'two' }",
    );
    assert!(plan.contains("users: 90"), "{plan}");
    assert_eq!(losses.len(), 2, "{losses:#?}");
}

#[test]
fn thresholds_are_those_of_steps_groups_and_journeys() {
    let text = "import http from 'k6/http';\nimport { group } from 'k6';\n\
        export const options = { thresholds: {\n\
        'http_req_duration{name:list}': ['p(95)<500'], 'http_req_duration{ name : \"list\" }': ['p(99)<900'],\n\
        'http_req_duration{group:::shop::cart}': ['p(95)<300'], 'http_req_duration{scenario:b,expected_response:true}': ['p(95)<400'],\n\
        'http_req_duration{name:https://a.test/2}': ['p(95)<200'], 'http_req_failed{scenario:nobody}': ['rate<0.01'],\n\
        'group_duration{group:::shop}': ['p(95)<1000'] },\n\
        scenarios: { a: { executor: 'constant-vus', vus: 1, duration: '1m', exec: 'one' },\n\
        b: { executor: 'constant-vus', vus: 1, duration: '1m', exec: 'two' } } };\n\
        export function one() { group('shop', () => { group('cart', () => { http.get('https://a.test/1', { tags: { name: 'list' } }); }); }); }\n\
        export function two() { http.get('https://a.test/2'); }\n";
    let plan = without_comments(&imported_with(text, &[]).unwrap().plan);
    assert_contains(
        &plan,
        &[
            "step list: ",
            "p(99)<900",
            "group cart: ",
            "journey b: ",
            "step https://a.test/2",
        ],
    );
    let lines = losses(text);
    assert!(
        lines
            .iter()
            .any(|line| line.contains("http_req_failed{scenario:nobody}")),
        "{lines:#?}"
    );
}

#[test]
fn a_scenario_that_sends_nothing_is_left_out() {
    let text = "import http from 'k6/http';\nimport { browser } from 'k6/browser';\n\
        export const options = { scenarios: {\n\
        load: { executor: 'constant-vus', vus: 2, duration: '1m' },\n\
        look: { executor: 'constant-vus', vus: 1, duration: '1m', exec: 'look' } } };\n\
        export default function () { http.get('https://a.test/1'); }\n\
        export async function look() { const page = await browser.newPage(); await page.goto('https://a.test'); }\n";
    let imported = imported_with(text, &[]).unwrap();
    let plan = without_comments(&imported.plan);
    assert_contains(&plan, &["load: { users: 2, hold: 1m }"]);
    assert!(!plan.contains("journeys"), "{plan}");
    let losses: Vec<String> = imported.losses.iter().map(ToString::to_string).collect();
    assert!(
        losses
            .iter()
            .any(|loss| loss.starts_with("test.js:5:1: lost: the scenario look: ")),
        "{losses:#?}"
    );
}

#[test]
fn users_forget_their_cookies_unless_the_script_keeps_them() {
    let plan = |options: &str| {
        let text = format!(
            "import http from 'k6/http';\nexport const options = {{ {options} }};\n\
             export default function () {{ http.get('https://a.test/1'); }}\n"
        );
        without_comments(&imported_with(&text, &[]).unwrap().plan)
    };
    for (options, forgets) in [
        ("vus: 2, duration: '1m'", true),
        ("vus: 2, iterations: 10", true),
        ("vus: 2, duration: '1m', noCookiesReset: true", false),
        ("iterations: 1", false),
        (
            "scenarios: { a: { executor: 'constant-arrival-rate', rate: 1, duration: '1m', preAllocatedVUs: 1 } }",
            false,
        ),
        (
            "scenarios: { a: { executor: 'per-vu-iterations', vus: 9, iterations: 1 } }",
            false,
        ),
    ] {
        let plan = plan(options);
        assert_eq!(plan.contains("forgets: true\n"), forgets, "{plan}");
    }
}
