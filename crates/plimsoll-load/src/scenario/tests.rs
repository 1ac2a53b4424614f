//! Plans and jobs for the unit tests of users.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_model::journey::{Inputs, Scenario};
use plimsoll_model::plan::{GoodStatus, Load, PathOrder, Plan, RequestPlan, Transport};
use plimsoll_model::seed::Seed;

use crate::job::Job;

pub(crate) fn plan(scenario: Scenario) -> Plan {
    Plan {
        name: "test".to_owned(),
        target: super::origin::tests::target("http://a.example/"),
        request: RequestPlan {
            method: "GET".to_owned(),
            paths: vec!["/".to_owned()],
            order: PathOrder::Circular,
            headers: vec![
                ("Host".to_owned(), "a.example".to_owned()),
                ("User-Agent".to_owned(), "test".to_owned()),
            ],
            body: Vec::new(),
            redirects_max: 0,
        },
        scenario: Some(scenario),
        find: None,
        transport: Transport {
            timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(10),
            connections_max: 100,
            requests_per_connection: 0,
            sources: Vec::new(),
            ca_file: None,
            insecure: false,
            body_len_max: 1 << 20,
            http2: None,
        },
        load: Load::Users {
            phases: Vec::new(),
            iterations: None,
        },
        objective: None,
        good: GoodStatus::default(),
        seed: Seed(1),
        cores: 1,
        tick: None,
        warmup: Duration::ZERO,
        classes_ms: [800, 1200],
    }
}

#[expect(clippy::disallowed_methods, reason = "a job starts at some moment")]
pub(crate) fn job(plan: Plan, inputs: Arc<Inputs>) -> Job {
    Job {
        load: plan.load.clone(),
        seed: plan.seed,
        plan: Arc::new(plan),
        epoch: std::time::Instant::now(),
        start_second: 0,
        inputs,
    }
}
