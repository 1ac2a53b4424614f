use super::*;

/// `p99 < 800 ms, errors < 0.1 %`.
fn objective() -> Objective {
    Objective {
        latency: vec![LatencyBound {
            quantile: 0.99,
            within_us: 800_000,
        }],
        errors_max: Some(0.001),
        ..Objective::default()
    }
}

fn request(second: i64, is_good: bool) -> ServedRequest {
    ServedRequest {
        ended_s: second,
        is_good,
        response_us: Some(1_000),
        client: None,
    }
}

/// A request in each slot of a minute; those of `down` failed.
fn minutes(count: i64, down: impl Fn(i64) -> bool) -> Availability {
    let mut counter = AvailabilityCounter::new(60, None);
    for minute in 0..count {
        counter
            .add_request(request(minute * 60, !down(minute)))
            .unwrap();
    }
    counter.finish().unwrap()
}

#[test]
fn nines_are_those_of_the_textbook() {
    // 99.9 % of a month of 30 days are 43.2 minutes of downtime, of a year 8 h 46 min.
    let month = minutes(43_200, |minute| minute < 43);
    assert!((month.nines().unwrap() - 3.002).abs() < 1e-3, "{month:?}");
    let year = minutes(525_600, |minute| minute < 526);
    assert!((year.nines().unwrap() - 3.0).abs() < 1e-3);
    let exact = minutes(10_000, |minute| minute == 7);
    assert!((exact.nines().unwrap() - 4.0).abs() < 1e-9);
    assert!((exact.share() - 0.9999).abs() < 1e-12);
    let never = minutes(100, |_| false);
    assert_eq!((never.nines(), never.share()), (None, 1.0));
    let always = minutes(100, |_| true);
    assert_eq!((always.nines(), always.share()), (Some(0.0), 0.0));
}

#[test]
fn incidents_are_stretches_with_duration_and_users() {
    let mut counter = AvailabilityCounter::new(60, None);
    for minute in 0..100_i64 {
        // Two incidents: minutes 10 to 14, of which 12 has no request, and minute 50.
        if minute == 12 {
            continue;
        }
        let is_down = (10..15).contains(&minute) || minute == 50;
        for client in 0..4 {
            let failed = is_down && client < 3;
            let mut request = request(minute * 60 + 5, !failed);
            request.client = Some(client);
            counter.add_request(request).unwrap();
        }
    }
    let availability = counter.finish().unwrap();
    let expected = [(600, 300, 12, Some(3)), (3_000, 60, 3, Some(3))];
    let found = availability.incidents.iter().map(|incident| {
        let Incident {
            began_s,
            lasted_s,
            failed,
            users,
        } = *incident;
        (began_s, lasted_s, failed, users)
    });
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert_eq!((availability.down_s, availability.service_s), (360, 6_000));
}

#[test]
fn late_answers_are_no_success_and_single_failures_are_no_downtime() {
    let mut counter = AvailabilityCounter::new(1, Some(&objective()));
    for second in 0..1_000 {
        for number in 0..10 {
            let mut request = request(second, number != 0 || second != 500);
            if number == 1 && second < 100 {
                request.response_us = Some(800_001);
            }
            counter.add_request(request).unwrap();
        }
    }
    let availability = counter.finish().unwrap();
    assert_eq!((availability.failed, availability.late), (1, 100));
    assert!((availability.reliability().unwrap() - 0.989_9).abs() < 1e-12);
    assert!(availability.incidents.is_empty());
    // 101 bad of 10,000, of which 1 % may be: 1.01 of the budget is spent.
    let budget = availability.budget.unwrap();
    assert!((budget.burn_rate - 1.01).abs() < 1e-9, "{budget:?}");
    assert!((budget.left + 0.01).abs() < 1e-9, "{budget:?}");
}

#[test]
fn budgets_burn_as_in_the_workbook() {
    let errors_only = Objective {
        latency: Vec::new(),
        ..objective()
    };
    let mut counter = AvailabilityCounter::new(60, Some(&errors_only));
    // 720 hours of 2,500 requests; in one hour 1.44 % fail: burn rate 14.4, 2 % of the budget of a month.
    for hour in 0..720_i64 {
        for number in 0..2_500_i64 {
            let failed = hour == 100 && number < 36;
            let second = hour * 3_600 + number * 3_600 / 2_500;
            counter.add_request(request(second, !failed)).unwrap();
        }
    }
    let budget = counter.finish().unwrap().budget.unwrap();
    assert!((budget.left - 0.98).abs() < 1e-9, "{budget:?}");
    assert!(
        (budget.burn_rate_of_worst_hour - 14.4).abs() < 0.1,
        "{budget:?}"
    );
}

#[test]
fn without_objective_or_requests_there_is_no_budget() {
    assert_eq!(minutes(10, |_| false).budget, None);
    assert_eq!(AvailabilityCounter::new(60, None).finish(), None);
    let nothing_allowed = Objective {
        errors_max: Some(0.0),
        ..Objective::default()
    };
    let mut counter = AvailabilityCounter::new(60, Some(&nothing_allowed));
    counter.add_request(request(0, true)).unwrap();
    assert_eq!(counter.finish().unwrap().budget, None);
}

/// Watched for minutes of seconds; the listener is gone in those of `gone`.
fn watched(counter: &mut AvailabilityCounter, seconds: u32, gone: impl Fn(u32) -> bool) {
    for second in 0..seconds {
        let observed = WatchedSecond {
            second,
            is_listening: Some(!gone(second)),
            ..WatchedSecond::default()
        };
        counter.add_watched(observed, 0).unwrap();
    }
}

fn incidents(availability: &Availability) -> Vec<(i64, i64, u64)> {
    let incidents = availability.incidents.iter();
    incidents
        .map(|it| (it.began_s, it.lasted_s, it.failed))
        .collect()
}

#[test]
fn seconds_without_a_listener_are_down_to_the_second() {
    let mut counter = AvailabilityCounter::new(60, None);
    watched(&mut counter, 1_000, |second| (100..180).contains(&second));
    let availability = counter.finish().unwrap();
    assert_eq!(incidents(&availability), [(100, 80, 0)]);
    assert_eq!((availability.service_s, availability.down_s), (1_000, 80));
    assert_eq!((availability.from_s, availability.until_s), (0, 1_000));
    assert_eq!(availability.reliability(), None);
    assert_eq!(availability.incidents[0].users, None);
}

#[test]
fn who_was_answered_outvotes_a_listener_that_is_gone() {
    // Two machines: one is restarted, the other goes on.
    let mut counter = AvailabilityCounter::new(60, None);
    watched(&mut counter, 600, |second| (100..180).contains(&second));
    watched(&mut counter, 600, |second| second == 170 || second == 300);
    let both = counter.clone().finish().unwrap();
    assert_eq!(incidents(&both), [(170, 1, 0)]);
    // A log has an answer in that second, and a minute that is down.
    counter.add_request(request(170, true)).unwrap();
    for second in [310, 311] {
        counter.add_request(request(second, false)).unwrap();
    }
    let with_log = counter.finish().unwrap();
    assert_eq!(incidents(&with_log), [(300, 60, 2)]);
    assert_eq!(with_log.service_s, 600);
}

#[test]
fn an_answer_while_the_only_listener_is_gone_came_from_elsewhere() {
    let with_answers_at = |seconds: &[i64]| {
        let mut counter = AvailabilityCounter::new(60, None);
        watched(&mut counter, 600, |second| (100..180).contains(&second));
        for second in seconds {
            counter.add_request(request(*second, true)).unwrap();
        }
        counter.finish().unwrap().down_s
    };
    assert_eq!(with_answers_at(&[]), 80);
    // In its last second it answered; the log cuts seconds elsewhere.
    assert_eq!(with_answers_at(&[90, 100, 101, 178, 200]), 77);
    assert_eq!(with_answers_at(&[140]), 0);
}

#[test]
fn requests_of_a_log_are_not_counted_again_by_a_watched_component() {
    let reading = |second: u32, requests: u64, failed: u64| WatchedSecond {
        second,
        is_listening: None,
        requests,
        failed,
    };
    let mut counter = AvailabilityCounter::new(60, Some(&objective()));
    for second in 0..120 {
        counter.add_watched(reading(second, 10, 1), 0).unwrap();
    }
    for second in 60..120 {
        counter.add_request(request(second, true)).unwrap();
    }
    let availability = counter.finish().unwrap();
    // The first minute is the component's, the second the log's.
    assert_eq!((availability.requests, availability.failed), (660, 60));
    assert!(availability.incidents.is_empty());
    let budget = availability.budget.unwrap();
    assert!((budget.burn_rate - 60.0 / 0.66).abs() < 1e-9, "{budget:?}");
}

#[test]
fn runs_logs_and_readings_of_one_time_are_joined() {
    let mut counter = AvailabilityCounter::new(60, None);
    for second in (0..600).step_by(10) {
        let is_down = (200..300).contains(&second);
        counter.add_request(request(second, !is_down)).unwrap();
    }
    watched(&mut counter, 900, |second| (235..330).contains(&second));
    let availability = counter.finish().unwrap();
    // Minutes 3 and 4 failed (180 to 299); from 300 on something else answers until the listener is back at 330.
    assert_eq!(incidents(&availability), [(180, 120, 10)]);
    assert_eq!(availability.service_s, 900);
}
