//! The page of an exporter as a Prometheus server scraped it: the response of its API to a query for the series of one
//! instance.
//!
//! The server has a new page at its own pace. The series of one page are told from those of the one before it by the time of
//! the machine's clock, which is among them.

use std::fmt::Write as _;
use std::net::IpAddr;

use plimsoll_model::component::instance_query::host_of;
use serde_json::Value;

use super::page::{TIME, escaped};
use crate::collectors::link::ScrapeError;

/// The label with the name of a series.
const NAME: &str = "__name__";

/// The address of the machine that a query is about, where its label `instance` has one.
pub(super) fn address_of(instance: &str) -> Option<IpAddr> {
    host_of(instance).parse().ok()
}

/// The page, in the text format of exporters.
pub(super) fn page_of(response: &str) -> Result<String, ScrapeError> {
    let strange = |why: &str| ScrapeError::Strange(why.to_owned());
    let parsed: Value = serde_json::from_str(response).unwrap_or_default();
    let series = parsed["data"]["result"].as_array();
    let series =
        series.ok_or_else(|| strange("not the response of a Prometheus server to a query"))?;
    let clock = series.iter().find(|it| label(it, NAME) == TIME);
    let clock = clock.ok_or_else(|| {
        strange("the Prometheus server has no series node_time_seconds of this instance")
    })?;
    // Another job may scrape the same exporter: its counters would be added to these.
    let job = label(clock, "job");
    let mut page = String::new();
    for sample in series.iter().filter(|it| label(it, "job") == job) {
        write_sample(&mut page, sample);
    }
    Ok(page)
}

fn label<'s>(series: &'s Value, name: &str) -> &'s str {
    series["metric"][name].as_str().unwrap_or_default()
}

/// A line of the page. What is no number is left out by whoever reads the page.
fn write_sample(page: &mut String, series: &Value) {
    page.push_str(label(series, NAME));
    let all = series["metric"].as_object().into_iter().flatten();
    let own = all.filter(|(name, _)| *name != NAME);
    let labels: Vec<String> = own
        .filter_map(|(name, value)| Some(format!("{name}=\"{}\"", escaped(value.as_str()?))))
        .collect();
    if !labels.is_empty() {
        let _ = write!(page, "{{{}}}", labels.join(","));
    }
    let value = series["value"][1].as_str().unwrap_or_default();
    let value = value.lines().next().unwrap_or_default();
    let _ = writeln!(page, " {value}");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RESPONSE: &str = r#"{"status":"success","data":{"resultType":"vector","result":[
        {"metric":{"__name__":"node_time_seconds","instance":"db1:9100","job":"node"},"value":[1764100001.2,"1764100000.5"]},
        {"metric":{"__name__":"node_disk_io_time_seconds_total","device":"a\"\\b","instance":"db1:9100","job":"node"},
         "value":[1764100001.2,"7.5"]},
        {"metric":{"__name__":"node_load1","instance":"db1:9100","job":"twice"},"value":[1764100001.2,"9"]}]}}"#;

    #[test]
    fn a_response_is_the_page_of_one_job() {
        let page = page_of(RESPONSE).unwrap();
        let right = "node_time_seconds{instance=\"db1:9100\",job=\"node\"} 1764100000.5\n\
            node_disk_io_time_seconds_total{device=\"a\\\"\\\\b\",instance=\"db1:9100\",job=\"node\"} 7.5\n";
        assert_eq!(page, right);
    }

    #[test]
    fn what_is_no_page_is_refused_with_the_reason() {
        for (response, expected) in [
            ("<html>", "not the response of a Prometheus server"),
            (
                r#"{"status":"success","data":{"resultType":"scalar"}}"#,
                "not the response of a Prometheus server",
            ),
            (
                r#"{"status":"success","data":{"resultType":"vector","result":[]}}"#,
                "no series node_time_seconds of this instance",
            ),
        ] {
            let Err(ScrapeError::Strange(why)) = page_of(response) else {
                panic!("{response}");
            };
            assert!(why.contains(expected), "{why}");
        }
    }

    #[test]
    fn the_address_of_an_instance_is_its_own() {
        for (instance, right) in [
            ("10.0.0.5:9100", Some("10.0.0.5")),
            ("[fd00::1]:9100", Some("fd00::1")),
            ("db1:9100", None),
        ] {
            let right = right.map(|text| text.parse().unwrap());
            assert_eq!(address_of(instance), right, "{instance}");
        }
    }

    proptest! {
        #[test]
        fn no_response_is_too_strange(text in "\\PC{0,80}", at in 0_usize..600) {
            let _ = page_of(&text);
            let cut = RESPONSE.get(..at).unwrap_or(RESPONSE);
            let _ = page_of(&format!("{cut}{text}"));
            let _ = page_of(&RESPONSE.replace("db1", &text));
        }
    }
}
