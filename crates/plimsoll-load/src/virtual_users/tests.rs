//! The flattened program takes the same steps as an interpreter that follows the tree.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_model::journey::{
    Choice, Inputs, Journey, RepeatRange, RequestStep, Scenario, Step, StepInfo, TextTemplate,
};
use plimsoll_model::plan::{Load, Plan};
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::job::Job;
use crate::loop_share::LoopShare;
use crate::prepared_load::PreparedLoad;
use crate::scheduler::Newcomer;
use crate::virtual_users::{NextAction, UserAdmission, VirtualUsers};

/// Longest walk that is compared.
const TAKEN_MAX: usize = 2000;

fn request(id: u32) -> Step {
    Step::Request(Box::new(RequestStep {
        id,
        method: "GET".to_owned(),
        url: TextTemplate::literal("/"),
        headers: Vec::new(),
        body: plimsoll_model::journey::RequestBody::Empty,
        follow: 0,
        timeout: None,
        captures: Vec::new(),
        expectations: Vec::new(),
    }))
}

/// Trees of steps whose requests have ids from 0 to 9.
fn tree() -> impl Strategy<Value = Step> {
    let leaf = prop_oneof![
        (0..10_u32).prop_map(request),
        (1..100_u64).prop_map(
            |ms| Step::Think(plimsoll_model::journey::ThinkTime::Uniform(
                Duration::from_millis(ms),
                Duration::from_millis(2 * ms)
            ))
        ),
        ("[01]").prop_map(|value| Step::Set(0, TextTemplate::literal(value))),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        let steps = prop::collection::vec(inner, 0..4);
        prop_oneof![
            (0..3_u32, 0..3_u32, steps.clone()).prop_map(|(min, more, steps)| Step::Repeat {
                times: RepeatRange {
                    min,
                    max: min + more
                },
                steps
            }),
            prop::collection::vec((0.1..5.0_f64, steps.clone()), 1..4).prop_map(|choices| {
                let choice = |(weight, steps)| Choice { weight, steps };
                Step::Choose(choices.into_iter().map(choice).collect())
            }),
            (steps.clone(), steps.clone(), any::<bool>()).prop_map(|(then, otherwise, negated)| {
                Step::If {
                    condition: plimsoll_model::journey::Condition {
                        left: TextTemplate {
                            pieces: vec![plimsoll_model::journey::TextPiece::Slot(0)],
                        },
                        operator: plimsoll_model::journey::Operator::Truthy,
                        right: TextTemplate::default(),
                        negated,
                    },
                    then,
                    otherwise,
                }
            }),
            steps.prop_map(|steps| Step::Group { id: 10, steps }),
        ]
    })
}

/// A user's observable action.
#[derive(Clone, Debug, PartialEq, Eq)]
enum UserAction {
    Requested(u32),
    Thought(u64),
}

/// Interprets the tree.
struct Interpreter {
    random: Xoshiro256PlusPlus,
    slot: bool,
    taken: Vec<UserAction>,
}

impl Interpreter {
    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            self.step(step);
        }
    }

    fn step(&mut self, step: &Step) {
        if self.taken.len() >= TAKEN_MAX {
            return;
        }
        match step {
            Step::Request(request) => self.taken.push(UserAction::Requested(request.id)),
            Step::Think(pause) => {
                let pause = pause.draw_ns(&mut self.random);
                self.taken.push(UserAction::Thought(pause));
            }
            Step::Set(_, text) => self.slot = text.as_literal() == Some("1"),
            Step::Repeat { times, steps } => {
                let count = self.random.random_range(times.min..=times.max);
                (0..count).for_each(|_| self.steps(steps));
            }
            Step::Choose(choices) => {
                let total: f64 = choices.iter().map(|choice| choice.weight).sum();
                let (drawn, mut share): (f64, f64) = (self.random.random(), 0.0);
                let way = choices.iter().find(|choice| {
                    share += choice.weight / total;
                    drawn < share
                });
                self.steps(&way.or(choices.last()).unwrap().steps);
            }
            Step::If {
                condition,
                then,
                otherwise,
            } => {
                let way = if self.slot == condition.negated {
                    otherwise
                } else {
                    then
                };
                self.steps(way);
            }
            Step::Group { steps, .. } => self.steps(steps),
            Step::Page { .. }
            | Step::Socket(_)
            | Step::Send(_)
            | Step::Subscribe(_)
            | Step::Every { .. }
            | Step::Close(_)
            | Step::Poll(_) => unreachable!("none is made"),
        }
    }
}

fn plan(once: Vec<Step>, steps: Vec<Step>) -> Plan {
    let scenario = Scenario {
        journeys: vec![Journey {
            weight: 1.0,
            once,
            steps,
            connections: 1,
            ..Journey::default()
        }],
        steps: vec![StepInfo::default(); 11],
        slots: vec!["slot".to_owned()],
        ..Scenario::default()
    };
    crate::scenario::tests::plan(scenario)
}

fn virtual_users(once: Vec<Step>, steps: Vec<Step>) -> Box<VirtualUsers> {
    let job = Job {
        load: Load::Users {
            phases: Vec::new(),
            iterations: None,
        },
        ..crate::scenario::tests::job(plan(once, steps), Arc::new(Inputs::default()))
    };
    let prepared = PreparedLoad::new(job, LoopShare::WHOLE);
    VirtualUsers::new(
        &prepared.unwrap(),
        0,
        crate::virtual_users::LoopCarryOver::default(),
    )
    .unwrap()
}

proptest! {
    #[test]
    fn the_program_takes_the_steps_of_the_tree(
        once in prop::collection::vec(tree(), 0..3),
        steps in prop::collection::vec(tree(), 0..4),
    ) {
        let mut users = virtual_users(once.clone(), steps.clone());
        let newcomer = Newcomer { number: 1, place: 1, journey: 0 };
        prop_assert_eq!(users.enter(newcomer), UserAdmission::Goes(0));
        let mut interpreter = Interpreter {
            random: users.users[0].random.clone(),
            slot: false,
            taken: Vec::new(),
        };
        interpreter.steps(&once);
        interpreter.steps(&steps);
        interpreter.steps(&steps);
        let (mut taken, mut ended) = (Vec::new(), 0);
        while ended < 2 && taken.len() < TAKEN_MAX {
            match users.walk(0, 0, &mut 1_000_000) {
                NextAction::Request(index) => {
                    users.users[0].count_in_groups(1, plimsoll_model::outcome::Outcome::Ok);
                    taken.push(UserAction::Requested(users.program.request(index).id));
                }
                NextAction::Think(pause) => taken.push(UserAction::Thought(pause)),
                NextAction::Begin => prop_assert_eq!(users.begin(0, true), UserAdmission::Goes(0)),
                NextAction::Ended { .. } => {
                    ended += 1;
                    prop_assert!(users.users[0].groups.is_empty());
                }
                NextAction::Group(..) => {}
                _ => prop_assert!(false, "no page, no WebSocket, no circle"),
            }
        }
        prop_assert_eq!(taken, interpreter.taken);
    }
}
