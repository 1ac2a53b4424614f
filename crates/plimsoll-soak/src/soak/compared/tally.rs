//! How often ours and the rules in common use were right.

use serde_json::Value;

use super::{SERVICE_US, SLOWER_US};

/// Share of the slower candidates that must be found.
pub(super) const FOUND_MIN: f64 = 0.9;
/// One false alarm in so many comparisons of equal services on sockets is allowed.
pub(super) const COMPARISONS_PER_ALARM: usize = 40;
/// Name of the rule that is ours.
pub(super) const OURS: &str = "plimsoll compare";
/// Name of Otava itself.
const OTAVA: &str = "Apache Otava 0.8.0, baseline then candidate";

/// The comparisons of equal services, and those of a slower one.
pub(super) struct Compared<'r> {
    pub(super) equal: Vec<&'r Value>,
    pub(super) slower: Vec<&'r Value>,
}

/// What a rule concluded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RuleTally {
    pub(super) rule: String,
    /// Equal services told apart.
    pub(super) alarms: usize,
    /// Slower candidates found.
    pub(super) found: usize,
    /// Slower candidates that it calls better.
    pub(super) reversed: usize,
}

impl<'r> Compared<'r> {
    pub(super) fn of(results: &'r [Value]) -> Self {
        let of = |service_us: u64| {
            let compared = results.iter().map(|result| &result["compared"]);
            compared
                .filter(|compared| compared["service_us"] == service_us)
                .collect()
        };
        Self {
            equal: of(SERVICE_US),
            slower: of(SLOWER_US),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.equal.is_empty() && self.slower.is_empty()
    }

    /// Ours first, then each rule beside it.
    pub(super) fn tallies(&self) -> Vec<RuleTally> {
        let all = || self.equal.iter().chain(&self.slower);
        let mut tallies = vec![self.tally(OURS, |compared| &compared["verdict"])];
        let mut names: Vec<&str> = Vec::new();
        for rule in all().flat_map(|compared| usual_rules(compared)) {
            let name = rule["rule"].as_str().unwrap_or_default();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        for name in names {
            tallies.push(self.tally(name, |compared| {
                usual_rules(compared)
                    .find(|rule| rule["rule"] == name)
                    .map_or(&Value::Null, |rule| &rule["verdict"])
            }));
        }
        if all().any(|compared| compared["otava"].is_string()) {
            tallies.push(self.tally(OTAVA, |compared| &compared["otava"]));
        }
        tallies
    }

    fn tally<'v>(&'v self, rule: &str, verdict: impl Fn(&'v Value) -> &'v Value) -> RuleTally {
        let count = |compared: &[&'v Value], wanted: &[&str]| {
            let verdicts = compared.iter().map(|compared| verdict(compared).as_str());
            verdicts
                .filter(|verdict| verdict.is_some_and(|verdict| wanted.contains(&verdict)))
                .count()
        };
        RuleTally {
            rule: rule.to_owned(),
            alarms: count(&self.equal, &["better", "worse"]),
            found: count(&self.slower, &["worse"]),
            reversed: count(&self.slower, &["better"]),
        }
    }

    /// Whether so many alarms are few enough, if one in `per_alarm` comparisons is allowed.
    pub(super) fn alarms_are_few(&self, alarms: usize, per_alarm: usize) -> bool {
        alarms * per_alarm <= self.equal.len()
    }

    /// Whether so many found are enough.
    pub(super) fn found_are_enough(&self, found: usize) -> bool {
        found as f64 >= FOUND_MIN * self.slower.len() as f64
    }
}

fn usual_rules(compared: &Value) -> impl Iterator<Item = &Value> {
    compared["usual_rules"].as_array().into_iter().flatten()
}

/// Prints what ours and the rules in common use concluded; true if ours alarms rarely enough and finds what was planted.
pub(in crate::soak) fn summarise(results: &[Value]) -> bool {
    let compared = Compared::of(results);
    if compared.is_empty() {
        return true;
    }
    let tallies = compared.tallies();
    println!(
        "compare: {} comparisons of equal services, {} of one that is 5 % slower",
        compared.equal.len(),
        compared.slower.len()
    );
    for tally in &tallies {
        println!(
            "  {}: {} false alarms, found in {}, reversed in {}",
            tally.rule, tally.alarms, tally.found, tally.reversed
        );
    }
    compared.alarms_are_few(tallies[0].alarms, COMPARISONS_PER_ALARM)
        && compared.found_are_enough(tallies[0].found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn results(service_us: u64, verdicts: &[&str]) -> Vec<Value> {
        let result = |verdict: &&str| {
            json!({ "compared": {
                "service_us": service_us, "verdict": verdict, "otava": "same",
                "usual_rules": [{ "rule": "last", "verdict": "worse" }],
            }})
        };
        verdicts.iter().map(result).collect()
    }

    #[test]
    fn one_alarm_in_forty_is_allowed() {
        let mut equal = vec!["same"; 39];
        equal.push("worse");
        assert!(summarise(&results(SERVICE_US, &equal)));
        equal[0] = "better";
        assert!(!summarise(&results(SERVICE_US, &equal)));
        assert!(summarise(&[]));
    }

    #[test]
    fn nine_of_ten_must_be_found() {
        let mut slower = vec!["worse"; 18];
        slower.extend(["undecided"; 2]);
        assert!(summarise(&results(SLOWER_US, &slower)));
        slower[0] = "undecided";
        assert!(!summarise(&results(SLOWER_US, &slower)));
    }

    #[test]
    fn each_rule_is_counted_by_its_name() {
        let mut all = results(SERVICE_US, &["same", "better"]);
        all.extend(results(SLOWER_US, &["worse", "better"]));
        all[0]["compared"]["usual_rules"] = json!([]);
        let tallies = Compared::of(&all).tallies();
        let counts: Vec<_> = tallies
            .iter()
            .map(|tally| (tally.alarms, tally.found, tally.reversed))
            .collect();
        assert_eq!(counts, [(1, 1, 1), (1, 2, 0), (0, 0, 0)]);
        assert_eq!(tallies[1].rule, "last");
    }
}
