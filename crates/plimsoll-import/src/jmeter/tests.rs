//! Whole test plans, and texts that are none.

mod broken;
mod requests;
mod shapes;

use std::collections::BTreeMap;

use crate::{Imported, Script, ScriptError, ScriptFiles, ScriptOptions};

/// Files beside a script, by their paths.
#[derive(Default)]
struct Files(BTreeMap<String, String>);

impl ScriptFiles for Files {
    fn text(&self, path: &str) -> Result<String, String> {
        let text = self.0.get(path).cloned();
        text.ok_or_else(|| format!("cannot open {path}: no such file"))
    }
}

fn try_import(text: &str, files: &[(&str, &str)]) -> Result<Imported, ScriptError> {
    let files = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    let files = Files(files.collect());
    let script = Script {
        name: "a.jmx",
        text,
        files: &files,
    };
    super::import(&script, &ScriptOptions::default())
}

#[track_caller]
fn import(text: &str, files: &[(&str, &str)]) -> Imported {
    match try_import(text, files) {
        Ok(imported) => imported,
        Err(error) => panic!("{error}\n{text}"),
    }
}

/// The steps of a plan, without what stands above them.
#[track_caller]
fn steps(imported: &Imported) -> String {
    let start = imported.plan.find("\nsteps:\n").map(|at| at + 1);
    let rest = &imported.plan[start.unwrap_or_else(|| panic!("{}", imported.plan))..];
    rest.split("\nload:")
        .next()
        .unwrap_or_default()
        .trim_end()
        .to_owned()
}

fn losses(imported: &Imported) -> Vec<String> {
    imported
        .losses
        .iter()
        .map(|loss| format!("{}: {}", loss.what, loss.why))
        .collect()
}

/// A test plan with these elements in its only thread group.
fn jmx(inside: &str) -> String {
    jmx_with("", inside)
}

/// The same with further elements beside the thread group.
fn jmx_with(beside: &str, inside: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="Shop"/><hashTree>
{beside}
<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="Buyers">
<elementProp name="ThreadGroup.main_controller" elementType="LoopController"><stringProp name="LoopController.loops">1</stringProp></elementProp>
<stringProp name="ThreadGroup.num_threads">1</stringProp>
<stringProp name="ThreadGroup.on_sample_error">startnextloop</stringProp>
</ThreadGroup><hashTree>
<CookieManager testclass="CookieManager" testname="Cookies"/><hashTree/>
{inside}
</hashTree></hashTree></hashTree></jmeterTestPlan>"#
    )
}

/// An element with properties and elements below it.
fn element(class: &str, name: &str, properties: &[(&str, &str)], below: &str) -> String {
    let property =
        |(name, value): &(&str, &str)| format!("<stringProp name=\"{name}\">{value}</stringProp>");
    let properties = properties.iter().map(property).collect::<Vec<_>>().concat();
    format!(
        "<{class} testclass=\"{class}\" testname=\"{name}\">{properties}</{class}><hashTree>{below}</hashTree>"
    )
}

/// A GET of a path at shop.example.
fn get(path: &str, below: &str) -> String {
    let properties = [
        ("HTTPSampler.domain", "shop.example"),
        ("HTTPSampler.protocol", "https"),
        ("HTTPSampler.path", path),
        ("HTTPSampler.method", "GET"),
    ];
    element("HTTPSamplerProxy", path, &properties, below)
}
