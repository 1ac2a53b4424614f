//! Published messages, and a hub's counters.

use jiff::Timestamp;

/// A JSON object of an exact length in bytes, with the time in µs and a number.
pub(crate) fn message(number: u32, len: usize) -> String {
    let timestamp = Timestamp::now().as_microsecond();
    let head = format!(r#"{{"t":{timestamp},"n":{number},"p":""#);
    let filled = len.saturating_sub(head.len() + 2);
    format!(r#"{head}{}"}}"#, "x".repeat(filled))
}

/// The sum over all labels of a metric in Prometheus' text.
pub(super) fn sum_of(text: &str, name: &str) -> Option<f64> {
    let values = text.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let value = match rest.strip_prefix('{') {
            Some(labels) => labels.split_once('}')?.1,
            None => rest.strip_prefix(' ')?,
        };
        value.trim().parse::<f64>().ok()
    });
    values.fold(None, |sum, value| Some(sum.unwrap_or(0.0) + value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_json_of_the_length_that_was_asked() {
        let message = message(7, 200);
        assert_eq!(message.len(), 200);
        let read: serde_json::Value = serde_json::from_str(&message).unwrap();
        assert_eq!(read["n"], 7);
        // Microseconds have 16 digits from 2001 to 2286.
        assert_eq!(read["t"].to_string().len(), 16);
    }

    #[test]
    fn metrics_are_added_up_over_their_labels() {
        let text = "# TYPE hub_dropped_total counter\nhub_dropped_total{kind=\"a\"} 3\nhub_dropped_total{kind=\"b\"} 4\n\
                    hub_dropped_total_other 9\nhub_lag 2.5\n";
        assert_eq!(sum_of(text, "hub_dropped_total"), Some(7.0));
        assert_eq!(sum_of(text, "hub_lag"), Some(2.5));
        assert_eq!(sum_of(text, "hub"), None);
    }
}
