//! Requests: addresses, arguments, headers, values, captures, expectations.

use super::{element, get, import, jmx, jmx_with, losses, steps};

fn argument(name: &str, value: &str, encode: bool) -> String {
    format!(
        "<elementProp name=\"{name}\" elementType=\"HTTPArgument\"><boolProp name=\"HTTPArgument.always_encode\">{encode}</boolProp>\
         <stringProp name=\"Argument.value\">{value}</stringProp><stringProp name=\"Argument.metadata\">=</stringProp>\
         <stringProp name=\"Argument.name\">{name}</stringProp></elementProp>"
    )
}

fn sampler(method: &str, path: &str, arguments: &str, more: &str) -> String {
    format!(
        "<HTTPSamplerProxy testclass=\"HTTPSamplerProxy\" testname=\"s\">\
         <elementProp name=\"HTTPsampler.Arguments\" elementType=\"Arguments\"><collectionProp name=\"Arguments.arguments\">{arguments}</collectionProp></elementProp>\
         <stringProp name=\"HTTPSampler.domain\">shop.example</stringProp><stringProp name=\"HTTPSampler.path\">{path}</stringProp>\
         <stringProp name=\"HTTPSampler.method\">{method}</stringProp>{more}</HTTPSamplerProxy><hashTree/>"
    )
}

#[test]
fn arguments_are_query_form_or_raw_body() {
    let both = argument("q", "a b", true) + &argument("raw", "c%20d", false);
    let raw = argument("", "{\"a\": \"${__UUID()}\"}", false);
    let imported = import(
        &jmx(&format!(
            "{}{}{}",
            sampler("GET", "/search?x=1", &both, ""),
            sampler("POST", "/form", &both, ""),
            sampler(
                "POST",
                "/raw",
                &raw,
                "<boolProp name=\"HTTPSampler.postBodyRaw\">true</boolProp>"
            )
        )),
        &[],
    );
    assert_eq!(losses(&imported), [""; 0]);
    assert_eq!(
        steps(&imported),
        r#"steps:
  - get: /search?x=1&q=a+b&raw=c%20d
    label: s
  - post: /form
    label: s
    form: { q: a b, raw: c d }
  - post: /raw
    label: s
    headers: { Content-Type: text/plain; charset=UTF-8 }
    body: '{"a": "{{ uuid() }}"}'"#
    );
    assert!(
        imported.plan.contains("\ntarget: http://shop.example\n"),
        "{}",
        imported.plan
    );
    assert!(
        imported.plan.contains("\nload: { users: 1 }\n"),
        "{}",
        imported.plan
    );
}

#[test]
fn defaults_and_headers_merge_by_scope() {
    let defaults = "<ConfigTestElement guiclass=\"HttpDefaultsGui\" testclass=\"ConfigTestElement\" testname=\"d\">\
        <stringProp name=\"HTTPSampler.domain\">${__P(host,shop.example)}</stringProp><stringProp name=\"HTTPSampler.port\">8080</stringProp>\
        </ConfigTestElement><hashTree/>";
    let header = |name: &str, value: &str| {
        format!(
            "<HeaderManager testclass=\"HeaderManager\" testname=\"h\"><collectionProp name=\"HeaderManager.headers\">\
             <elementProp name=\"\" elementType=\"Header\"><stringProp name=\"Header.name\">{name}</stringProp><stringProp name=\"Header.value\">{value}</stringProp></elementProp>\
             </collectionProp></HeaderManager><hashTree/>"
        )
    };
    let own = element(
        "HTTPSamplerProxy",
        "own",
        &[("HTTPSampler.path", "a"), ("HTTPSampler.method", "GET")],
        &header("accept", "text/csv"),
    );
    let other = element("HTTPSamplerProxy", "", &[("HTTPSampler.path", "/b c")], "");
    let beside = defaults.to_owned() + &header("Accept", "*/*") + &header("X-Run", "1");
    let imported = import(&jmx_with(&beside, &(own + &other)), &[]);
    assert_eq!(losses(&imported), [""; 0]);
    assert!(
        imported
            .plan
            .contains("target: \"http://{{ env('JMETER_HOST', 'shop.example') }}:8080\"\n"),
        "{}",
        imported.plan
    );
    assert!(
        imported.plan.contains("\nheaders: { X-Run: \"1\" }\n"),
        "{}",
        imported.plan
    );
    assert_eq!(
        steps(&imported),
        "steps:\n  - get: /a\n    label: own\n    headers: { accept: text/csv }\n  - get: /b%20c\n    headers: { Accept: \"*/*\" }"
    );
}

#[test]
fn extractors_and_assertions_become_captures_and_expectations() {
    let below = element(
        "RegexExtractor",
        "csrf",
        &[
            ("RegexExtractor.refname", "csrf"),
            (
                "RegexExtractor.regex",
                "name=\\&quot;csrf\\&quot; value=&quot;(.+?)&quot;",
            ),
            ("RegexExtractor.template", "$1$"),
            ("RegexExtractor.match_number", "1"),
            ("RegexExtractor.default", "NONE"),
        ],
        "",
    ) + "<ResponseAssertion testclass=\"ResponseAssertion\" testname=\"ok\"><collectionProp name=\"Asserion.test_strings\">\
         <stringProp name=\"1\">20\\d</stringProp></collectionProp><stringProp name=\"Assertion.test_field\">Assertion.response_code</stringProp>\
         <intProp name=\"Assertion.test_type\">2</intProp></ResponseAssertion><hashTree/>"
        + "<ResponseAssertion testclass=\"ResponseAssertion\" testname=\"text\"><collectionProp name=\"Asserion.test_strings\">\
         <stringProp name=\"1\">Error</stringProp></collectionProp><stringProp name=\"Assertion.test_field\">Assertion.response_data</stringProp>\
         <intProp name=\"Assertion.test_type\">20</intProp></ResponseAssertion><hashTree/>"
        + &element(
            "DurationAssertion",
            "d",
            &[("DurationAssertion.duration", "800")],
            "",
        )
        + &element(
            "RegexExtractor",
            "behind",
            &[
                ("RegexExtractor.refname", "x"),
                ("RegexExtractor.regex", "(?&lt;=a)(b)"),
                ("RegexExtractor.template", "$1$"),
            ],
            "",
        );
    let imported = import(
        &jmx(&(get("/form", &below) + &get("/send?t=${csrf}", ""))),
        &[],
    );
    assert_eq!(
        losses(&imported),
        [
            "Regular Expression Extractor \"behind\": look-around is not in regular expressions of plans"
        ]
    );
    assert_eq!(
        steps(&imported),
        r#"steps:
  - get: /form
    label: /form
    expect:
      status: [200, 201, 202, 203, 204, 205, 206, 207, 208, 209]
      lacks: [Error]
      within: 800ms
    capture: { csrf: { regex: 'name="csrf" value="(.+?)"', default: NONE } }
  - get: "/send?t={{ csrf }}"
    label: "/send?t=${csrf}""#
    );
}

#[test]
fn what_nothing_sets_is_read_from_the_environment() {
    let script = element(
        "JSR223PreProcessor",
        "sign",
        &[("script", "vars.put(\"sign\", \"x\")")],
        "",
    );
    let imported = import(
        &jmx(&get(
            "/a?s=${sign}&amp;p=${__javaScript(1+Math.random())}",
            &script,
        )),
        &[],
    );
    let found = losses(&imported);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(
        found
            .iter()
            .any(|loss| loss.starts_with("JSR223 PreProcessor \"sign\": a plan runs no scripts"))
    );
    assert!(
        found
            .iter()
            .any(|loss| loss == "variable ${sign}: only a part that is lost sets it")
    );
    assert!(
        found
            .iter()
            .any(|loss| loss.starts_with("function ${__javaScript(1+Math.random())}"))
    );
    assert!(
        steps(&imported)
            .contains("get: \"/a?s={{ env('SIGN') }}&p={{ env('JMETER_JAVASCRIPT') }}\""),
        "{}",
        imported.plan
    );
}

#[test]
fn variables_are_constants_rows_or_values_of_their_time() {
    let variables = "<Arguments testclass=\"Arguments\" testname=\"v\"><collectionProp name=\"Arguments.arguments\">\
        <elementProp name=\"base\" elementType=\"Argument\"><stringProp name=\"Argument.name\">base</stringProp><stringProp name=\"Argument.value\">/v1</stringProp></elementProp>\
        <elementProp name=\"run\" elementType=\"Argument\"><stringProp name=\"Argument.name\">run</stringProp><stringProp name=\"Argument.value\">${__UUID}</stringProp></elementProp>\
        <elementProp name=\"self\" elementType=\"Argument\"><stringProp name=\"Argument.name\">self</stringProp><stringProp name=\"Argument.value\">${self}</stringProp></elementProp>\
        </collectionProp></Arguments><hashTree/>";
    let rows = element(
        "CSVDataSet",
        "users",
        &[
            ("filename", "users.csv"),
            ("variableNames", "name,age"),
            ("delimiter", ","),
            ("recycle", "false"),
            ("stopThread", "true"),
        ],
        "",
    );
    let inside = rows
        + &get(
            "${base}/${name}?r=${run}&amp;s=${self}&amp;u=${__threadNum}&amp;n=${__Random(1,6,n)}${n}",
            "",
        );
    let imported = import(
        &jmx_with(variables, &inside),
        &[("users.csv", "ada,36\nbob,40\n")],
    );
    assert_eq!(losses(&imported), [""; 0]);
    assert!(
        imported.plan.contains(
            "  users:\n    rows:\n      - name: ada\n        age: \"36\"\n      - name: bob\n        age: \"40\"\n    pick: unique\n    at_end: stop\n    each: iteration\n"
        ),
        "{}",
        imported.plan
    );
    assert!(
        imported
            .plan
            .contains("once:\n  - set: { run: \"{{ uuid() }}\" }\n"),
        "{}",
        imported.plan
    );
    assert!(
        steps(&imported).starts_with(
            "steps:\n  - set: { \"n\": \"{{ random_int(1, 6) }}\" }\n  - get: \"/v1/{{ users.name }}?r={{ run }}&s=$%7Bself%7D&u={{ user }}&n={{ n }}{{ n }}\""
        ),
        "{}",
        imported.plan
    );
}

#[test]
fn properties_have_their_values_of_a_file() {
    let inside = get(
        "/a?u=${__P(user.name,nobody)}&amp;k=${__P(api_token)}&amp;n=${__P(n)}",
        "",
    );
    let files = [(
        "user.properties",
        "# of the test\nuser.name = ada\napi_token=s3cr3t\n",
    )];
    let imported = import(&jmx(&inside), &files);
    assert_eq!(losses(&imported), [""; 0]);
    assert!(
        steps(&imported).contains(
            "get: \"/a?u={{ env('USER_NAME', 'ada') }}&k={{ env('API_TOKEN') }}&n={{ env('N', '1') }}\""
        ),
        "{}",
        imported.plan
    );
}

#[test]
fn a_variable_that_nothing_sets_is_sent_as_its_reference() {
    let imported = import(&jmx(&get("/a?s=${shop}", "")), &[]);
    assert_eq!(
        losses(&imported),
        ["variable ${shop}: nothing that is read sets it, and JMeter sends the reference itself"]
    );
    assert!(
        steps(&imported).contains("{{ env('SHOP', '${shop}') }}"),
        "{}",
        imported.plan
    );
}

#[test]
fn users_forget_where_a_manager_clears_each_iteration() {
    let manager = |property: &str| {
        let inside = format!(
            "{}{}",
            element("CookieManager", "Cleared", &[(property, "true")], ""),
            get("/a", "")
        );
        let text = jmx(&inside).replace(
            "<stringProp name=\"LoopController.loops\">1</stringProp>",
            "<stringProp name=\"LoopController.loops\">5</stringProp>",
        );
        import(&text, &[])
    };
    let imported = manager("CookieManager.clearEachIteration");
    assert!(
        imported.plan.contains("forgets: true\n"),
        "{}",
        imported.plan
    );
    assert!(
        losses(&imported)[0]
            .starts_with("HTTP Cookie Manager \"Cookies\": another manager is cleared"),
        "{:?}",
        losses(&imported)
    );
    assert!(!manager("other").plan.contains("forgets"));
}

#[test]
fn rows_beside_the_test_plan_are_found_by_its_folder() {
    let folder = "${__BeanShell(import org.apache.jmeter.services.FileServer; FileServer.getFileServer().getBaseDir();)}${__BeanShell(File.separator,)}";
    let rows = [
        ("filename", &*format!("{folder}users.csv")),
        ("variableNames", "name"),
        ("delimiter", ","),
    ];
    let inside = element("CSVDataSet", "Users", &rows, "") + &get("/a?n=${name}", "");
    let imported = import(&jmx(&inside), &[("./users.csv", "ada\nbob\n")]);
    assert_eq!(losses(&imported), [""; 0]);
    assert!(steps(&imported).contains(".name }}\""), "{}", imported.plan);
}
