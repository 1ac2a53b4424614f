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
    assert!((availability.reliability() - 0.989_9).abs() < 1e-12);
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
