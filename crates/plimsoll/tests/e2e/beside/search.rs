//! `plimsoll tune` whose time runs out.

use std::fs;

use crate::tune::{STANDS, SiteSearch};

#[test]
fn a_search_that_ran_out_of_time_keeps_what_stands_until_settings_are_adopted() {
    let site = SiteSearch::new();
    // The first trial is always carried out; then there is no time for another, on a fast machine and on a busy one.
    let within = ["tune", "site.yaml", "--within", "1ms", "--json", "--quiet"];
    let output = site.place.run(&within);
    let result = output.json();
    site.place.assert_follows_schema("tune", &result);
    assert_eq!(result["undone"], true, "{output:?}");
    assert_eq!(result["adopt"], false, "{output:?}");
    assert_eq!(site.stands(), STANDS);
    assert!(!site.is_site_running(), "the site is stopped");
    let folder = site.place.path().join("plimsoll/site");
    for name in ["tuned.yaml", "report.html", "experiment.log"] {
        assert!(folder.join(name).is_file(), "{name}: {output:?}");
    }
    // Nothing is adopted, so nothing is applied.
    let apply = ["tune", "site.yaml", "--apply", "--json"];
    let output = site.place.run(&apply);
    assert_eq!(
        output.json()["applied"],
        serde_json::json!([]),
        "{output:?}"
    );
    assert_eq!(site.stands(), STANDS);
    // The user decides otherwise.
    let tuned = fs::read_to_string(folder.join("tuned.yaml")).unwrap();
    let tuned = tuned.replace("adopt: false", "adopt: true").replacen(
        "\"nodes\": \"2000\"",
        "\"nodes\": \"60\"",
        1,
    );
    fs::write(folder.join("tuned.yaml"), tuned).unwrap();
    fs::write(site.file(), "70\n").unwrap();
    let output = site.place.run(&apply);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stderr.contains("changed since the search"),
        "{output:?}"
    );
    assert_eq!(site.stands(), "70\n");
    fs::write(site.file(), STANDS).unwrap();
    let output = site
        .place
        .run(&["tune", "plimsoll/site/tuned.yaml", "--apply", "--json"]);
    let applied = output.json()["applied"].to_string();
    assert!(applied.contains("nodes.conf is written"), "{output:?}");
    assert!(
        output.json()["by_hand"]
            .to_string()
            .contains("restart `sh`"),
        "{output:?}"
    );
    assert_eq!(site.stands(), "60\n");
    // It stays, also after a further start.
    let output = site.place.run(&apply);
    assert_eq!(site.stands(), "60\n", "{output:?}");
    let kept = fs::read_to_string(folder.join("original/1-nodes.conf")).unwrap();
    assert_eq!(kept, STANDS);
}
