//! Whether a second that another machine sent may be added to others: no sum must overflow, whatever was sent.

use plimsoll_model::bodies::BodyBytes;
use plimsoll_model::histogram::Histogram;
use plimsoll_model::outcome::OutcomeCounts;
use plimsoll_model::window::{FAILURES_MAX, StepWindow, Window};

/// The highest number that a second of one worker may count: as many bytes go over a link of 500 Gbit/s. If all of 256 workers
/// sent it in every second, the sums would have 64 bits after twelve days.
const COUNT_MAX: u64 = 1 << 36;
/// Most errors of a load in a second: one of each event loop.
const LOAD_ERRORS_MAX: usize = 1024;

/// Whether all numbers of a second are in range, and it has nothing that workers do not measure.
pub(crate) fn is_in_range(window: &Window) -> bool {
    // Another second follows each.
    window.second < u32::MAX
        && window.websocket.is_none()
        && window.processes.is_empty()
        && window.steps_named.is_empty()
        && window.failures.len() <= FAILURES_MAX
        && window.load_errors.len() <= LOAD_ERRORS_MAX
        && (0.0..=COUNT_MAX as f64).contains(&window.in_flight_mean)
        && has_counts_in_range(window)
        && has_histograms_in_range(window)
        && window.steps.values().all(is_step_in_range)
        && window.urls.values().all(is_step_in_range)
}

fn is_count_in_range(count: u64) -> bool {
    count <= COUNT_MAX
}

fn has_counts_in_range(window: &Window) -> bool {
    let generator = window.generator;
    let own = [
        window.offered,
        window.sent,
        window.in_flight,
        window.waiting,
        window.connections,
        window.connections_opened,
        window.handshakes,
        window.bytes_in,
        window.bytes_out,
        window.gzip,
        window.brotli,
        window.http2,
        window.redirects,
        window.retries,
        window.users,
        window.iterations,
        window.users_lost,
        generator.loop_cpu_us,
        generator.loop_cpu_us_max,
        generator.ports_exhausted,
        generator.descriptors_exhausted,
    ];
    let bodies = [
        window.bodies.other,
        window.bodies.gzip,
        window.bodies.brotli,
    ];
    let mapped = window
        .status
        .values()
        .chain(window.journey_iterations.values());
    own.into_iter().all(is_count_in_range)
        && mapped.copied().all(is_count_in_range)
        && bodies.into_iter().all(are_bytes_in_range)
        && are_outcomes_in_range(&window.outcomes)
}

fn has_histograms_in_range(window: &Window) -> bool {
    let own = [
        &window.response,
        &window.service,
        &window.connect,
        &window.tls,
        &window.failed,
        &window.lag,
    ];
    let partial = window.partial.iter();
    let partial = partial.flat_map(|reads| [&reads.service, &reads.first_byte, &reads.transfer]);
    own.into_iter().chain(partial).all(is_histogram_in_range)
}

fn is_histogram_in_range(histogram: &Histogram) -> bool {
    is_count_in_range(histogram.count())
}

fn are_outcomes_in_range(outcomes: &OutcomeCounts) -> bool {
    outcomes.iter().all(|(_, count)| is_count_in_range(count))
}

fn are_bytes_in_range(bytes: BodyBytes) -> bool {
    let counts = [
        bytes.answers,
        bytes.bytes,
        bytes.decoded_from,
        bytes.decoded,
    ];
    counts.into_iter().all(is_count_in_range)
}

fn is_step_in_range(step: &StepWindow) -> bool {
    are_outcomes_in_range(&step.outcomes)
        && is_histogram_in_range(&step.response)
        && is_histogram_in_range(&step.failed)
        && is_histogram_in_range(&step.given_up)
        && is_count_in_range(step.bytes_in)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::outcome::Outcome;
    use plimsoll_model::window::PartialReads;

    use super::*;

    #[test]
    fn a_number_that_no_second_has_is_refused_wherever_it_is() {
        let mut busy = Window::new(7);
        busy.offered = 1_000_000;
        busy.in_flight_mean = 12.5;
        busy.response.record(1_000, 1_000_000);
        assert!(is_in_range(&busy));
        let many = COUNT_MAX + 1;
        let changes: [&dyn Fn(&mut Window); 11] = [
            &|window| window.second = u32::MAX,
            &|window| window.offered = u64::MAX,
            &|window| window.in_flight_mean = -1.0,
            &|window| window.in_flight_mean = 1e300,
            &|window| window.outcomes.add_many(Outcome::Ok, many),
            &|window| window.response.record(1, many),
            &|window| window.generator.loop_cpu_us_max = many,
            &|window| window.bodies.gzip.decoded = many,
            &|window| {
                let mut reads = PartialReads::default();
                reads.transfer.record(1, many);
                window.partial = Some(Box::new(reads));
            },
            &|window| {
                window.status.insert(200, many);
            },
            &|window| window.websocket = Some(Box::default()),
        ];
        for (index, change) in changes.into_iter().enumerate() {
            let mut window = busy.clone();
            change(&mut window);
            assert!(!is_in_range(&window), "change {index}");
        }
    }

    #[test]
    fn steps_and_rows_of_urls_are_held_to_the_same_bounds() {
        let mut step = StepWindow::default();
        step.failed.record(5, COUNT_MAX + 1);
        let mut window = Window::new(1);
        window.urls.insert(3, step);
        assert!(!is_in_range(&window));
        window.urls.clear();
        assert!(is_in_range(&window));
    }
}
