//! The bill of materials, from cargo's own resolution: what is in the binary, and nothing that only builds or tests it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use plimsoll_harness::workspace::cargo;
use serde_json::{Value, json};

use crate::release::{Release, TARGET, output};

/// In the format of `CycloneDX` 1.6.
pub(crate) fn cyclonedx(release: &Release) -> Result<Value> {
    let mut metadata = cargo();
    metadata
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(["--filter-platform", TARGET])
        .current_dir(release.workspace.root());
    let metadata: Value = serde_json::from_str(&output(&mut metadata)?)?;
    bill(&metadata).context("cargo metadata does not describe plimsoll")
}

fn bill(metadata: &Value) -> Option<Value> {
    let packages = metadata["packages"].as_array()?.iter();
    let packages: BTreeMap<&str, &Value> = packages
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    let nodes = metadata["resolve"]["nodes"].as_array()?.iter();
    let dependencies: BTreeMap<&str, Vec<&str>> = nodes
        .filter_map(|node| Some((node["id"].as_str()?, linked(node))))
        .collect();
    let (root, _) = packages
        .iter()
        .find(|(_, package)| package["name"] == "plimsoll")?;

    let mut reached = BTreeSet::new();
    let mut open = vec![*root];
    while let Some(id) = open.pop() {
        if reached.insert(id) {
            open.extend(dependencies.get(id)?);
        }
    }
    let components: Option<Vec<Value>> = reached
        .iter()
        .filter(|id| *id != root)
        .map(|id| component(packages.get(id)?, "library"))
        .collect();
    let links: Option<Vec<Value>> = reached
        .iter()
        .map(|id| {
            let on = dependencies.get(id)?.iter();
            let on: Option<BTreeSet<String>> = on.map(|id| reference(packages.get(id)?)).collect();
            Some(json!({ "ref": reference(packages.get(id)?)?, "dependsOn": on? }))
        })
        .collect();
    Some(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": component(packages.get(root)?, "application")?,
            "tools": { "components": [{ "type": "application", "name": "cargo xtask package" }] },
        },
        "components": components?,
        "dependencies": links?,
    }))
}

/// Dependencies that are linked: neither those of tests nor those of build scripts.
fn linked(node: &Value) -> Vec<&str> {
    let dependencies = node["deps"].as_array().into_iter().flatten();
    let normal = dependencies.filter(|dependency| {
        let mut kinds = dependency["dep_kinds"].as_array().into_iter().flatten();
        kinds.any(|kind| kind["kind"].is_null())
    });
    normal
        .filter_map(|dependency| dependency["pkg"].as_str())
        .collect()
}

fn reference(package: &Value) -> Option<String> {
    let name = package["name"].as_str()?;
    let version = package["version"].as_str()?;
    Some(format!("pkg:cargo/{name}@{version}"))
}

fn component(package: &Value, kind: &str) -> Option<Value> {
    let reference = reference(package)?;
    let mut component = json!({
        "type": kind,
        "bom-ref": reference,
        "name": package["name"],
        "version": package["version"],
        "purl": reference,
    });
    if let Some(license) = package["license"].as_str() {
        // `MIT/Apache-2.0` is how old crates write `OR`.
        let license = license.replace(" / ", "/").replace('/', " OR ");
        component["licenses"] = json!([{ "expression": license }]);
    }
    Some(component)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_listed_once_and_nothing_else() {
        let package = |name: &str| json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0" });
        let to = |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let packages = ["plimsoll", "a", "b", "for-tests", "for-builds"].map(package);
        let metadata = json!({
            "packages": packages,
            "resolve": { "nodes": [
                { "id": "plimsoll", "deps": [
                    to("a", Value::Null), to("b", Value::Null),
                    to("for-tests", "dev".into()), to("for-builds", "build".into()),
                ] },
                { "id": "a", "deps": [to("b", Value::Null)] },
                { "id": "b", "deps": [] },
                { "id": "for-tests", "deps": [] },
                { "id": "for-builds", "deps": [] },
            ] },
        });
        let bill = bill(&metadata).unwrap();
        let components = bill["components"].as_array().unwrap();
        let names: Vec<&Value> = components.iter().map(|it| &it["name"]).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(
            components[0]["licenses"][0]["expression"],
            "MIT OR Apache-2.0"
        );
        assert_eq!(bill["dependencies"].as_array().unwrap().len(), 3);
        assert_eq!(
            bill["metadata"]["component"]["purl"],
            "pkg:cargo/plimsoll@1.0.0"
        );
    }
}
