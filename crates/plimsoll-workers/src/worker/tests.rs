use plimsoll_testkit::plan::get_root;

use super::*;
use crate::load_order::LoadOrder;

/// The load of this number.
fn start(round: u32, is_trial: bool) -> Box<Start> {
    let order = LoadOrder {
        is_trial,
        ..LoadOrder::of_plan(&get_root(([127, 0, 0, 1], 80).into()))
    };
    Box::new(Start {
        round,
        epoch_ns: -5,
        second: 3,
        index: 1,
        workers: 2,
        loops: None,
        order,
    })
}

fn worker() -> WorkerState {
    WorkerState::new(Join {
        name: "a".to_owned(),
        region: None,
        instance: 7,
        resumes: false,
    })
}

fn receive(worker: &mut WorkerState, message: ToWorker, now_ns: u64) {
    let clocks = ArrivalClocks {
        now_ns,
        wall_ns: 1_000 + i64::try_from(now_ns).unwrap(),
    };
    worker.received(message, clocks);
}

fn outgoing(worker: &mut WorkerState) -> Vec<ToCoordinator> {
    std::iter::from_fn(|| worker.next_outgoing()).collect()
}

fn actions(worker: &mut WorkerState) -> Vec<WorkerAction> {
    std::iter::from_fn(|| worker.next_action()).collect()
}

fn is_join(message: &ToCoordinator, resumes: bool) -> bool {
    matches!(message, ToCoordinator::Join(join) if join.resumes == resumes)
}

/// One that is about to begin.
fn ready() -> WorkerState {
    let mut worker = worker();
    worker.connected(0);
    assert!(is_join(&outgoing(&mut worker)[0], false));
    receive(
        &mut worker,
        ToWorker::Assigned {
            index: 1,
            workers: 2,
            pieces: 2,
        },
        1,
    );
    for text in ["a", "b"] {
        let text = text.to_owned();
        receive(&mut worker, ToWorker::Piece { text }, 2);
    }
    let taken = [1, 2].map(|pieces| ToCoordinator::Taken { pieces });
    assert_eq!(outgoing(&mut worker), taken);
    let prepare = WorkerAction::Prepare {
        index: 1,
        workers: 2,
        text: "ab".to_owned(),
    };
    assert_eq!(actions(&mut worker), [prepare]);
    worker.prepared(Ok(()));
    assert_eq!(outgoing(&mut worker), [ToCoordinator::Ready]);
    worker
}

fn running() -> WorkerState {
    running_with(false)
}

fn running_with(is_trial: bool) -> WorkerState {
    let mut worker = ready();
    let start = start(0, is_trial);
    receive(&mut worker, ToWorker::Start(start.clone()), 10);
    // Once more, as over another connection.
    receive(&mut worker, ToWorker::Start(start.clone()), 11);
    assert_eq!(actions(&mut worker), [WorkerAction::Begin(start)]);
    worker
}

fn end_load(worker: &mut WorkerState) {
    worker.load_ended(Used::default(), None, StayedUsers::default());
}

fn second(worker: &mut WorkerState, second: u32) {
    worker.second(Box::new(Window::new(second)), HostUse::default());
}

fn numbers(worker: &mut WorkerState) -> Vec<u64> {
    let sent = outgoing(worker).into_iter();
    sent.filter_map(|message| match message {
        ToCoordinator::Numbered { number, .. } => Some(number),
        _ => None,
    })
    .collect()
}

#[test]
fn probes_are_answered_with_both_clocks() {
    let mut worker = ready();
    receive(&mut worker, ToWorker::ClockProbe { id: 3 }, 50);
    let answer = ToCoordinator::ClockAnswer {
        id: 3,
        monotonic_ns: 50,
        wall_ns: 1_050,
    };
    assert_eq!(outgoing(&mut worker), [answer]);
}

#[test]
fn results_are_sent_again_after_a_silence_over_another_connection() {
    let mut worker = running();
    second(&mut worker, 3);
    second(&mut worker, 4);
    assert_eq!(numbers(&mut worker), [0, 1]);
    receive(&mut worker, ToWorker::Received { next: 1 }, SECOND_NS);
    worker.tick(SECOND_NS + RECONNECT_AFTER_NS);
    assert!(actions(&mut worker).is_empty());
    let silent_ns = SECOND_NS + RECONNECT_AFTER_NS + 1;
    worker.tick(silent_ns);
    let within_ns = SILENCE_MAX_NS - RECONNECT_AFTER_NS - 1;
    assert_eq!(actions(&mut worker), [WorkerAction::Connect { within_ns }]);
    second(&mut worker, 5);
    assert!(outgoing(&mut worker).is_empty());
    worker.tick(silent_ns + RETRY_NS - 1);
    assert!(actions(&mut worker).is_empty());
    worker.connected(silent_ns + RETRY_NS);
    let mut sent = outgoing(&mut worker).into_iter();
    assert!(is_join(&sent.next().unwrap(), true));
    let sent: Vec<u64> = sent
        .filter_map(|message| match message {
            ToCoordinator::Numbered { number, .. } => Some(number),
            _ => None,
        })
        .collect();
    assert_eq!(sent, [1, 2]);
}

#[test]
fn it_ends_when_everything_was_received_or_nobody_is_there() {
    let mut worker = running();
    second(&mut worker, 3);
    end_load(&mut worker);
    assert_eq!(numbers(&mut worker), [0, 1]);
    receive(&mut worker, ToWorker::Received { next: 2 }, 20);
    receive(&mut worker, ToWorker::Done, 21);
    assert_eq!(actions(&mut worker), [WorkerAction::Exit(WorkerEnd::Done)]);

    let mut worker = running();
    worker.tick(11 + SILENCE_MAX_NS + 1);
    let end = WorkerEnd::Silent(SILENCE_MAX_NS + 1);
    let expected = [WorkerAction::AbortLoad, WorkerAction::Exit(end)];
    assert_eq!(actions(&mut worker), expected);

    // Its results were received; that the coordinator went away is no harm.
    let mut worker = running();
    end_load(&mut worker);
    receive(&mut worker, ToWorker::Received { next: 1 }, 20);
    worker.disconnected(30);
    assert_eq!(actions(&mut worker), [WorkerAction::Exit(WorkerEnd::Done)]);
}

#[test]
fn a_refusal_ends_a_load_that_goes_on() {
    let mut worker = running();
    let reason = "its part is over".to_owned();
    receive(
        &mut worker,
        ToWorker::Refused {
            reason: reason.clone(),
        },
        20,
    );
    let end = WorkerAction::Exit(WorkerEnd::Refused(reason));
    assert_eq!(actions(&mut worker), [WorkerAction::AbortLoad, end]);
    second(&mut worker, 3);
    assert_eq!(numbers(&mut worker), [0_u64; 0]);
}

#[test]
fn a_coordinator_that_closes_before_it_gave_a_part_ends_the_worker() {
    let mut worker = worker();
    worker.connected(0);
    worker.disconnected(1);
    assert_eq!(
        actions(&mut worker),
        [WorkerAction::Exit(WorkerEnd::Closed)]
    );
}

#[test]
fn a_task_that_was_taken_is_not_taken_again() {
    let mut worker = ready();
    worker.disconnected(20);
    worker.tick(20);
    assert!(matches!(
        actions(&mut worker)[..],
        [WorkerAction::Connect { .. }]
    ));
    worker.connected(30);
    let assigned = ToWorker::Assigned {
        index: 1,
        workers: 2,
        pieces: 2,
    };
    receive(&mut worker, assigned, 31);
    let text = "a".to_owned();
    receive(&mut worker, ToWorker::Piece { text }, 32);
    let sent = outgoing(&mut worker);
    assert!(is_join(&sent[0], true));
    assert_eq!(
        sent[1..],
        [ToCoordinator::Taken { pieces: 2 }, ToCoordinator::Ready]
    );
    assert!(actions(&mut worker).is_empty());
    let other = ToWorker::Assigned {
        index: 0,
        workers: 2,
        pieces: 2,
    };
    receive(&mut worker, other, 33);
    assert!(matches!(
        outgoing(&mut worker)[..],
        [ToCoordinator::Failed { .. }]
    ));
}

#[test]
fn a_task_that_never_ends_is_refused() {
    for pieces in [0, PIECES_MAX + 1] {
        let mut worker = worker();
        worker.connected(0);
        let assigned = ToWorker::Assigned {
            index: 0,
            workers: 1,
            pieces,
        };
        receive(&mut worker, assigned, 1);
        let failed = WorkerEnd::Failed("the coordinator sent a task that does not fit".to_owned());
        assert_eq!(actions(&mut worker), [WorkerAction::Exit(failed)]);
    }
}

#[test]
fn it_carries_one_trial_after_the_other_and_none_twice() {
    let mut worker = running_with(true);
    // While the first goes on, no other begins.
    receive(&mut worker, ToWorker::Start(start(1, true)), 12);
    assert!(actions(&mut worker).is_empty());
    second(&mut worker, 3);
    end_load(&mut worker);
    assert_eq!(numbers(&mut worker), [0, 1]);
    receive(&mut worker, ToWorker::Received { next: 2 }, 13);
    // A line that is cut between two trials ends nothing.
    worker.disconnected(14);
    worker.tick(14);
    assert!(matches!(
        actions(&mut worker)[..],
        [WorkerAction::Connect { .. }]
    ));
    worker.connected(15);
    assert!(is_join(&outgoing(&mut worker)[0], true));
    receive(&mut worker, ToWorker::Start(start(0, true)), 16);
    receive(&mut worker, ToWorker::Abort { round: 0 }, 17);
    assert!(actions(&mut worker).is_empty(), "it is over");
    receive(&mut worker, ToWorker::Start(start(1, true)), 18);
    receive(&mut worker, ToWorker::Stop { round: 0 }, 19);
    let begin = WorkerAction::Begin(start(1, true));
    assert_eq!(actions(&mut worker), [begin]);
    receive(&mut worker, ToWorker::Stop { round: 1 }, 20);
    assert_eq!(actions(&mut worker), [WorkerAction::StopLoad]);
    end_load(&mut worker);
    let sent = outgoing(&mut worker);
    assert!(
        matches!(
            sent[..],
            [ToCoordinator::Numbered {
                round: 1,
                number: 2,
                content: Numbered::Ended { .. },
            }]
        ),
        "{sent:?}"
    );
    receive(&mut worker, ToWorker::Done, 21);
    assert_eq!(actions(&mut worker), [WorkerAction::Exit(WorkerEnd::Done)]);
}

#[test]
fn a_coordinator_that_dies_between_two_trials_ends_the_worker() {
    let mut worker = running_with(true);
    end_load(&mut worker);
    receive(&mut worker, ToWorker::Received { next: 1 }, 20);
    worker.disconnected(30);
    worker.tick(20 + SILENCE_MAX_NS + 1);
    let end = WorkerEnd::Silent(SILENCE_MAX_NS + 1);
    assert_eq!(actions(&mut worker), [WorkerAction::Exit(end)]);
}
