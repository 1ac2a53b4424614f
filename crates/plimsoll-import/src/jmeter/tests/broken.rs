//! What is no test plan, or a hostile one: an error with its place, and never a panic.

use proptest::prelude::*;

use super::{element, get, import, jmx, jmx_with, losses, try_import};

#[test]
fn entities_are_refused() {
    let bomb = "<?xml version=\"1.0\"?>\n<!DOCTYPE a [<!ENTITY x \"xxxx\"><!ENTITY y \"&x;&x;\">]>\n<jmeterTestPlan><hashTree/>&y;</jmeterTestPlan>";
    let error = try_import(bomb, &[]).unwrap_err().to_string();
    assert!(
        error.starts_with("a.jmx:2:1: ") && error.contains("entities are never expanded"),
        "{error}"
    );
    let error = try_import("<jmeterTestPlan>\n &copy;</jmeterTestPlan>", &[])
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("a.jmx:2:2: ") && error.contains("`&copy;`"),
        "{error}"
    );
}

#[test]
fn what_is_no_test_plan_is_an_error_with_its_place() {
    for (text, place, message) in [
        ("", "1:1", "not valid XML"),
        ("{}", "1:1", "not valid XML"),
        ("<a/>", "1:1", "its root is `a`"),
        ("<jmeterTestPlan>\n<hashTree></x>", "2:11", "not valid XML"),
        ("<jmeterTestPlan/>", "1:1", "no request was found"),
    ] {
        let error = try_import(text, &[]).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("a.jmx:{place}: ")) && error.contains(message),
            "{text}: {error}"
        );
    }
    let deep = "<jmeterTestPlan>".to_owned() + &"<hashTree>".repeat(100_000);
    let error = try_import(&deep, &[]).unwrap_err().to_string();
    assert!(error.contains("100 levels"), "{error}");
}

#[test]
fn includes_and_modules_end() {
    let include = element(
        "IncludeController",
        "again",
        &[("IncludeController.includepath", "a.jmx")],
        "",
    );
    let own = jmx(&(include + &get("/a", "")));
    let imported = import(&own, &[("a.jmx", &own)]);
    assert!(
        losses(&imported)
            .iter()
            .any(|loss| loss.contains("nested too deeply")),
        "{:?}",
        imported.losses
    );
    let path = "<collectionProp name=\"ModuleController.node_path\"><stringProp name=\"1\">Shop</stringProp><stringProp name=\"2\">Shop</stringProp><stringProp name=\"3\">part</stringProp></collectionProp>";
    let module = format!(
        "<ModuleController testclass=\"ModuleController\" testname=\"m\">{path}</ModuleController><hashTree/>"
    );
    let fragment = element("TestFragmentController", "part", &[], &get("/part", ""));
    let imported = import(&jmx_with(&fragment, &module), &[]);
    assert_eq!(losses(&imported), [""; 0]);
    assert!(imported.plan.contains("get: /part"), "{}", imported.plan);
}

#[test]
fn nested_variables_stay_small() {
    let variable = |number: u32| {
        let value = format!("${{a{}}}", number + 1).repeat(20);
        format!(
            "<elementProp name=\"v\" elementType=\"Argument\"><stringProp name=\"Argument.name\">a{number}</stringProp><stringProp name=\"Argument.value\">{value}</stringProp></elementProp>"
        )
    };
    let variables = (0..40).map(variable).collect::<Vec<_>>().concat();
    let beside = format!(
        "<Arguments testclass=\"Arguments\" testname=\"v\"><collectionProp name=\"Arguments.arguments\">{variables}</collectionProp></Arguments><hashTree/>"
    );
    let imported = import(&jmx_with(&beside, &get("/${a0}", "")), &[]);
    assert!(imported.plan.len() < 4 << 20);
}

/// A test plan of everything that the other tests have.
fn sample() -> String {
    let properties = [
        ("RegexExtractor.refname", "x"),
        ("RegexExtractor.regex", "(a)(b)"),
        ("RegexExtractor.template", "$2$"),
        ("HtmlExtractor.expr", "a"),
        ("HtmlExtractor.refname", "y"),
        ("XPathExtractor.xpathQuery", "//a[@b='c']/@d"),
        ("XPathExtractor.refname", "z"),
        ("filename", "a.csv"),
        ("variableNames", "u,v"),
        ("LoopController.loops", "2"),
        (
            "IfController.condition",
            "${__groovy(vars.get(\"x\") != \"1\" &amp;&amp; ${y} &gt; 2)}",
        ),
        ("WhileController.condition", "${c} &lt; 3"),
        ("CounterConfig.name", "c"),
        ("ConstantTimer.delay", "${__P(t,10)}"),
        ("SwitchController.value", "1"),
        ("ForeachController.inputVal", "x"),
        ("ForeachController.returnVal", "w"),
        (
            "OpenModelThreadGroup.schedule",
            "rate(1/s) even_arrivals(1 min)",
        ),
        ("TargetLevel", "5"),
        ("Hold", "1"),
        ("HTTPSampler.path", "/p/${x}?q=${__time(/1000)}${w}#f"),
        ("HTTPSampler.domain", "${__P(h,a.example)}"),
    ];
    let classes = [
        "RegexExtractor",
        "HtmlExtractor",
        "XPathExtractor",
        "CSVDataSet",
        "LoopController",
        "IfController",
        "WhileController",
        "CounterConfig",
        "ConstantTimer",
        "SwitchController",
        "ForeachController",
        "HTTPSamplerProxy",
        "InterleaveControl",
        "OnceOnlyController",
        "TransactionController",
        "RunTime",
        "JSR223Sampler",
        "TestAction",
    ];
    let all: String = classes
        .iter()
        .map(|class| element(class, class, &properties, ""))
        .collect();
    let nested = classes.iter().fold(all.clone(), |below, class| {
        element(class, "n", &properties, &below)
    });
    jmx_with(
        &element("OpenModelThreadGroup", "o", &properties, &all),
        &(all + &nested),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_text_panics(text in any::<String>(), value in "[${}_(),\\\\a-z0-9\"'<>=!&|. /-]{0,40}") {
        let _ = try_import(&text, &[]);
        let escaped = value.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
        let properties = [
            ("HTTPSampler.path", escaped.as_str()),
            ("HTTPSampler.domain", escaped.as_str()),
            ("RegexExtractor.regex", escaped.as_str()),
            ("RegexExtractor.refname", "x"),
            ("IfController.condition", escaped.as_str()),
            ("HtmlExtractor.expr", escaped.as_str()),
            ("XPathExtractor.xpathQuery", escaped.as_str()),
            ("OpenModelThreadGroup.schedule", escaped.as_str()),
            ("ConstantTimer.delay", escaped.as_str()),
        ];
        let below: String = ["RegexExtractor", "HtmlExtractor", "XPathExtractor", "ConstantTimer"]
            .iter()
            .map(|class| element(class, "e", &properties, ""))
            .collect();
        let request = element("HTTPSamplerProxy", "r", &properties, &below);
        let inside = element("IfController", "i", &properties, &request);
        let text = jmx_with(&element("OpenModelThreadGroup", "o", &properties, &request), &inside);
        prop_assert!(try_import(&text, &[]).is_ok());
    }

    #[test]
    fn no_change_of_a_test_plan_panics(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..60_usize, "[<>/\"=${}a-z0-9_&;]{0,8}"), 1..6)
    ) {
        let mut text = sample();
        for (at, len, with) in changes {
            let at = at.index(text.len() + 1);
            let start = text.floor_char_boundary(at);
            let end = text.floor_char_boundary((at + len).min(text.len())).max(start);
            text.replace_range(start..end, &with);
        }
        let _ = try_import(&text, &[("a.csv", "1,2\n3,4\n")]);
    }
}
