//! Values in attributes of a page: hidden fields, `meta`, `data-` attributes.

use scraper::{ElementRef, Html, Selector};

use super::{Extraction, ValueLocator};

/// Most matches of a selector with a number.
const PICK_MAX: usize = 30;
/// Most elements tried per value.
const ELEMENTS_MAX: usize = 20;

/// The best extractor for an attribute equal to `value`.
pub(super) fn find(page: &Html, value: &str) -> Option<Extraction> {
    let mut holders: Vec<(ElementRef<'_>, &str)> = Vec::new();
    for node in page.root_element().descendants() {
        if let Some(element) = ElementRef::wrap(node)
            && let Some((attribute, _)) = element.value().attrs().find(|(_, held)| *held == value)
        {
            holders.push((element, attribute));
            if holders.len() == ELEMENTS_MAX {
                break;
            }
        }
    }
    let ways: Vec<(String, &str)> = holders
        .iter()
        .flat_map(|&(element, attribute)| {
            selectors(element, attribute, value)
                .into_iter()
                .map(move |s| (s, attribute))
        })
        .collect();
    let ranked = |wanted: fn(usize) -> bool| {
        ways.iter().find_map(|(selector, attribute)| {
            let pick = position(page, selector, attribute, value)?;
            wanted(pick).then(|| Extraction {
                way: ValueLocator::Css {
                    selector: selector.clone(),
                    attribute: (*attribute).to_owned(),
                },
                pick,
                unescape: false,
            })
        })
    };
    // A unique selector is better than a number.
    ranked(|pick| pick == 1).or_else(|| ranked(|pick| pick <= PICK_MAX))
}

/// Number of the match with the value, from 1. A match without the attribute is not counted.
fn position(page: &Html, selector: &str, attribute: &str, value: &str) -> Option<usize> {
    let selector = Selector::parse(selector).ok()?;
    let found = page
        .select(&selector)
        .filter_map(|element| element.value().attr(attribute))
        .take(PICK_MAX)
        .position(|held| held == value)?;
    Some(found + 1)
}

/// Selectors for this element by its stable attributes, the best first.
fn selectors(element: ElementRef<'_>, attribute: &str, value: &str) -> Vec<String> {
    // Targets of links and scripts are found by the surrounding text.
    if matches!(
        attribute,
        "href" | "src" | "action" | "style" | "class" | "id" | "name"
    ) {
        return Vec::new();
    }
    let tag = element.value().name();
    let mut found = Vec::new();
    for key in ["name", "property", "itemprop", "http-equiv"] {
        if let Some(held) = element
            .value()
            .attr(key)
            .filter(|held| is_steady(held, value))
        {
            let own = format!("{tag}{}", equals(key, held));
            if let Some(form) = form_of(element, value) {
                found.push(own.clone());
                found.push(format!("{form} {own}"));
            } else {
                found.push(own);
            }
            break;
        }
    }
    if let Some(id) = element.value().attr("id").filter(|id| is_steady(id, value)) {
        found.push(format!("{tag}{}", equals("id", id)));
    }
    if attribute.starts_with("data-") {
        found.push(format!("{tag}[{attribute}]"));
    }
    found
}

/// The form around a field, by its id or action.
fn form_of(element: ElementRef<'_>, value: &str) -> Option<String> {
    let form = element
        .ancestors()
        .filter_map(ElementRef::wrap)
        .find(|parent| parent.value().name() == "form")?;
    ["id", "name", "action"].iter().find_map(|key| {
        let held = form
            .value()
            .attr(key)
            .filter(|held| is_steady(held, value))?;
        Some(format!("form{}", equals(key, held)))
    })
}

/// Whether an attribute is likely to be stable.
fn is_steady(held: &str, value: &str) -> bool {
    !held.is_empty()
        && held.len() <= 100
        && !held.contains(value)
        && !held.contains(char::is_control)
        && !held
            .split(['/', '?', '&', '=', '-', '_'])
            .any(crate::heuristics::is_id_segment)
}

fn equals(key: &str, held: &str) -> String {
    format!(
        "[{key}=\"{}\"]",
        held.replace('\\', "\\\\").replace('"', "\\\"")
    )
}
