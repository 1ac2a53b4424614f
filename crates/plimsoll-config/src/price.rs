//! The prices of a plan or an experiment.

use plimsoll_model::price::Price;

use crate::Problem;
use crate::demand::demand;
use crate::document::Shape::{Either, ListOf, Number, Of, Rate, Text};
use crate::document::{DocumentNode, DocumentReader, KeywordTable, MapFields, NodeKind, word};

/// Longest name of a currency, bytes.
const CURRENCY_LEN_MAX: usize = 32;
/// The largest price.
const PRICE_MAX: f64 = 1e12;

const EXAMPLE: &str = "{ currency: EUR, per_hour: { machine: 2.45 } }";
const AMOUNTS: &str = "at least one of per_hour, per_gb_out, per_request";
/// What is valid as an amount.
pub(crate) const AMOUNT_VALID: &str = "a number from 0, without the currency, such as 2.45";

/// Keys of `price`.
pub(crate) static PRICE: KeywordTable = KeywordTable {
    name: "price",
    meaning: "What the service costs: `{ currency: EUR, per_hour: { machine: 2.45 } }`. No price is looked up.",
    words: &[
        word!(
            "currency",
            Text,
            "Currency, any text of at most 32 bytes: `EUR`. Required."
        ),
        word!(
            "per_hour",
            Of(&PER_HOUR),
            "Prices of what is held, per hour."
        ),
        word!(
            "per_gb_out",
            Number,
            "Price of a GB (10⁹ bytes) that the service sends. Default: 0."
        ),
        word!("per_request", Number, "Price of a request. Default: 0."),
        word!(
            "demand",
            Either(&[ListOf(&Rate), Text]),
            "Demand that a month is priced for, in requests per second: rates of equally long parts that repeat, such as 24 \
             hours, or the file `log.json` that `plimsoll log --out DIR` writes. At most 10,080 parts. Default: no month is \
             priced."
        ),
    ],
};

/// Keys of `per_hour`.
pub(crate) static PER_HOUR: KeywordTable = KeywordTable {
    name: "per_hour",
    meaning: "Prices per hour. What has no price costs nothing.",
    words: &[
        word!("machine", Number, "Price of a machine."),
        word!("cpu", Number, "Price of a CPU."),
        word!("gib", Number, "Price of a GiB of memory."),
    ],
};

/// Prices as they are written: numbers, or what stands for one.
#[derive(Debug)]
pub(crate) struct PriceParts<T> {
    pub(crate) currency: String,
    pub(crate) machine_hour: Option<T>,
    pub(crate) cpu_hour: Option<T>,
    pub(crate) gib_hour: Option<T>,
    pub(crate) gb_out: Option<T>,
    pub(crate) request: Option<T>,
    pub(crate) demand: Vec<f64>,
}

impl<T> PriceParts<T> {
    /// The prices, of which `value` takes a number.
    pub(crate) fn price(&self, value: impl Fn(&T) -> Option<f64>) -> Price {
        let of = |part: &Option<T>| part.as_ref().and_then(&value).unwrap_or(0.0);
        Price {
            currency: self.currency.clone(),
            machine_hour: of(&self.machine_hour),
            cpu_hour: of(&self.cpu_hour),
            gib_hour: of(&self.gib_hour),
            gb_out: of(&self.gb_out),
            request: of(&self.request),
            demand: self.demand.clone(),
        }
    }
}

/// Reads the prices of a plan.
pub(crate) fn price(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Price> {
    let parts = parts(reader, node, |node| {
        reader.value(node, AMOUNT_VALID, amount)
    })?;
    Some(parts.price(|value| Some(*value)))
}

/// Reads prices, each by `read`.
pub(crate) fn parts<T>(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    read: impl Fn(&DocumentNode) -> Option<T>,
) -> Option<PriceParts<T>> {
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        reader.report(node, "the price has no unit", EXAMPLE);
        return None;
    }
    let fields = reader.fields(node, &PRICE)?;
    let currency = currency(reader, &fields);
    let per_hour = fields.get("per_hour");
    let hours = per_hour.and_then(|node| per_hour_fields(reader, node));
    let is_priced = !fields
        .among(&["per_hour", "per_gb_out", "per_request"])
        .is_empty();
    if !is_priced && !fields.misspells(&["per_hour", "per_gb_out", "per_request"]) {
        reader.report(node, "the price has no amount", AMOUNTS);
    }
    let of_hour = |word| read(hours.as_ref()?.get(word)?);
    let of = |word| read(fields.get(word)?);
    let parts = PriceParts {
        currency: String::new(),
        machine_hour: of_hour("machine"),
        cpu_hour: of_hour("cpu"),
        gib_hour: of_hour("gib"),
        gb_out: of("per_gb_out"),
        request: of("per_request"),
        demand: fields
            .get("demand")
            .map_or_else(Vec::new, |node| demand(reader, node)),
    };
    Some(PriceParts {
        currency: currency?,
        ..parts
    })
}

fn currency(reader: &DocumentReader<'_>, fields: &MapFields<'_>) -> Option<String> {
    let Some(node) = fields.get("currency") else {
        if !fields.misspells(&["currency"]) {
            reader.report(fields.node, "`currency` is missing", "currency: EUR");
        }
        return None;
    };
    let currency = reader.word(node, "a currency, such as EUR")?;
    if currency.len() > CURRENCY_LEN_MAX || currency.chars().any(char::is_control) {
        let valid = format!("at most {CURRENCY_LEN_MAX} bytes in a single line, such as EUR");
        reader.report(node, "not the name of a currency", valid);
        return None;
    }
    Some(currency)
}

fn per_hour_fields<'n>(
    reader: &DocumentReader<'_>,
    node: &'n DocumentNode,
) -> Option<MapFields<'n>> {
    const PER_HOUR_VALID: &str = "{ machine: 2.45 }, { cpu: 0.04 } or { gib: 0.005 }";
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        reader.report(node, "the price per hour has no unit", PER_HOUR_VALID);
        return None;
    }
    let fields = reader.fields(node, &PER_HOUR)?;
    let names = PER_HOUR.names();
    if fields.among(&names).is_empty() && !fields.misspells(&names) {
        reader.report(node, "there is no price per hour", PER_HOUR_VALID);
    }
    Some(fields)
}

/// An amount of money.
pub(crate) fn amount(text: &str) -> Result<f64, Problem> {
    match text.parse::<f64>() {
        Ok(amount) if (0.0..=PRICE_MAX).contains(&amount) => Ok(amount),
        _ => {
            let message = "not a price";
            Err(Problem::new(text, 0..text.len(), message, AMOUNT_VALID))
        }
    }
}
