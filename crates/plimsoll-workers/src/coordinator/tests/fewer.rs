//! Loads without the workers that did not come.

use super::simulation::{Simulation, join, second_of};
use super::*;
use crate::message::ToCoordinator;

#[test]
fn those_who_are_ready_carry_the_load_and_nobody_waits_for_the_others() {
    let mut simulation = Simulation::new(3, IfLost::Void, 4);
    // It has connected, and never says who it is.
    simulation.workers[1].is_frozen = true;
    simulation.run_for(1.0);
    let coordinator = &mut simulation.coordinator;
    assert!(!coordinator.is_ready());
    assert_eq!(coordinator.ready_names(), ["host", "host-2"]);
    assert_eq!(coordinator.leave_out_missing(), 2);
    assert!(coordinator.is_ready());
    assert_eq!((coordinator.workers(), coordinator.loops()), (2, Ok(2)));
    let notes = coordinator.take_notes();
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("2 of 3 workers"), "{notes:?}");
    simulation.workers[1].is_frozen = false;
    let second = simulation.start_trial();
    simulation.run_for(9.0);
    assert!(simulation.coordinator.is_over());
    assert!(simulation.workers[1].begun.is_empty());
    assert!(matches!(
        simulation.workers[1].end,
        Some(WorkerEnd::Refused(_))
    ));
    assert_eq!(simulation.merged.len(), 4);
    for window in &simulation.merged {
        let mut sum = Window::new(window.second);
        sum.merge(&second_of(0, window.second));
        sum.merge(&second_of(2, window.second));
        assert!((second..second + 4).contains(&window.second));
        assert_eq!(*window, sum);
    }
    // Once a load was started, nobody is left out.
    assert_eq!(simulation.coordinator.leave_out_missing(), 2);
}

#[test]
fn who_had_joined_and_was_not_ready_is_refused_by_name() {
    let mut coordinator = CoordinatorState::new(settings(2, IfLost::Void));
    let id = coordinator.connected(0);
    coordinator.received(id, ToCoordinator::Join(join(1, "slow")), 0);
    assert_eq!(coordinator.leave_out_missing(), 0);
    assert!(refusal(&mut coordinator, id).contains("not ready in time"));
    assert!(coordinator.records().is_empty());
}
