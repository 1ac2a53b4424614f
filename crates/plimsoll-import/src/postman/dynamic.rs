//! Dynamic variables: `{{$guid}}`, `{{$randomInt}}`. Those that plans have are drawn anew for each request; names, places
//! and the like are a fixed example.

use super::context::Context;

/// Expressions of plans for dynamic variables.
const EXPRESSIONS: [(&str, &str); 15] = [
    // `Date.now()` of a script.
    ("__now_ms", "now_ms()"),
    ("guid", "uuid()"),
    ("randomUUID", "uuid()"),
    ("timestamp", "now()"),
    ("randomInt", "random_int(0, 1000)"),
    ("randomAlphaNumeric", "random_string(1)"),
    ("randomPassword", "random_string(15)"),
    ("randomBoolean", "pick('true', 'false')"),
    ("randomColor", "pick('red', 'green', 'blue', 'yellow')"),
    ("randomLocale", "pick('de', 'en', 'fi', 'fr', 'zh')"),
    ("randomProtocol", "pick('http', 'https')"),
    ("randomCurrencyCode", "pick('EUR', 'USD', 'CHF')"),
    ("randomCountryCode", "pick('DE', 'FI', 'FR', 'US')"),
    ("randomPrice", "random_int(0, 1000)"),
    ("randomBankAccount", "random_int(10000000, 99999999)"),
];

/// Texts around a random string for dynamic variables that are unique in Postman.
const UNIQUE: [(&str, &str, &str); 8] = [
    ("randomEmail", "user-", "@example.com"),
    ("randomExampleEmail", "user-", "@example.com"),
    ("randomUserName", "user-", ""),
    ("randomDomainName", "site-", ".example.com"),
    ("randomUrl", "http://site-", ".example.com"),
    ("randomFileName", "file-", ".txt"),
    ("randomWord", "word", ""),
    ("randomHexColor", "#ff", ""),
];

/// Fixed examples.
const EXAMPLES: [(&str, &str); 20] = [
    ("isoTimestamp", "2026-01-01T12:00:00.000Z"),
    ("randomDateFuture", "2030-01-01T12:00:00.000Z"),
    ("randomDatePast", "2020-01-01T12:00:00.000Z"),
    ("randomDateRecent", "2026-01-01T12:00:00.000Z"),
    ("randomFirstName", "Ada"),
    ("randomLastName", "Lovelace"),
    ("randomFullName", "Ada Lovelace"),
    ("randomCity", "Helsinki"),
    ("randomCountry", "Finland"),
    ("randomStreetName", "Main Street"),
    ("randomStreetAddress", "1 Main Street"),
    ("randomPhoneNumber", "555-010-0100"),
    ("randomPhoneNumberExt", "555-010-0100"),
    ("randomCompanyName", "Example Ltd"),
    ("randomJobTitle", "Engineer"),
    ("randomProduct", "Chair"),
    ("randomProductName", "Wooden Chair"),
    ("randomIP", "192.0.2.1"),
    ("randomLoremWord", "lorem"),
    ("randomLoremSentence", "Lorem ipsum dolor sit amet."),
];

/// The value of a dynamic variable, named without its dollar.
pub(super) fn value(context: &mut Context<'_>, at: usize, name: &str) -> String {
    if let Some((_, expression)) = EXPRESSIONS.iter().find(|(known, _)| *known == name) {
        return context.marks.mark(expression).to_string();
    }
    if let Some((_, before, behind)) = UNIQUE.iter().find(|(known, ..)| *known == name) {
        let length = if name == "randomHexColor" { 4 } else { 8 };
        let middle = if name == "randomHexColor" {
            context.marks.mark("random_int(1000, 9999)")
        } else {
            context.marks.mark(&format!("random_string({length})"))
        };
        return format!("{before}{middle}{behind}");
    }
    let example = EXAMPLES.iter().find(|(known, _)| *known == name);
    let text = example.map_or("example", |(_, text)| text);
    context.lose(
        at,
        &format!("{{{{${name}}}}}"),
        &format!("a plan does not make up such values: always `{text}`"),
        "take rows of a data set: data: { row: { csv: … } }",
    );
    text.to_owned()
}
