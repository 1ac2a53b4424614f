//! Plans and jobs for the unit tests of users.

use std::sync::Arc;

use plimsoll_model::journey::{Inputs, Scenario};
use plimsoll_model::plan::{Load, Plan, RequestPlan};
use plimsoll_testkit::plan::get_root;

use crate::job::Job;

pub(crate) fn plan(scenario: Scenario) -> Plan {
    let base = get_root(([127, 0, 0, 1], 1).into());
    Plan {
        target: super::origin::tests::target("http://a.example/"),
        request: RequestPlan {
            headers: vec![
                ("Host".to_owned(), "a.example".to_owned()),
                ("User-Agent".to_owned(), "test".to_owned()),
            ],
            ..base.request
        },
        scenario: Some(scenario),
        load: Load::Users {
            phases: Vec::new(),
            iterations: None,
        },
        ..base
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
