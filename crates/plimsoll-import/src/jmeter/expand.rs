//! Puts included files and the targets of Module Controllers into the tree, as JMeter does it before a run.

use super::names::{is_group, title};
use super::tree::{self, Element};
use crate::script::{Losses, Remedy, Script};

/// Most elements that includes and modules add.
const ADDED_MAX: usize = 20_000;
/// Deepest nesting of includes and modules.
const NESTED_MAX: usize = 8;

/// Expands a whole tree.
pub(super) fn expand(script: &Script<'_>, losses: &mut Losses<'_>, top: &mut Vec<Element>) {
    let whole = top.clone();
    let mut expansion = Expansion {
        script,
        losses,
        whole: &whole,
        added: 0,
    };
    expansion.list(top, 0);
}

struct Expansion<'e, 'l, 's> {
    script: &'e Script<'e>,
    losses: &'l mut Losses<'s>,
    /// The tree before any expansion, in which modules are looked up.
    whole: &'e [Element],
    added: usize,
}

impl Expansion<'_, '_, '_> {
    fn list(&mut self, elements: &mut Vec<Element>, nested: usize) {
        elements.retain_mut(|element| {
            // A disabled element stays as it is, and is counted later.
            if !element.is_enabled {
                return true;
            }
            let found = match element.class.as_str() {
                "IncludeController" => self.included(element),
                "ModuleController" => self.module(element),
                _ => {
                    self.list(&mut element.below, nested);
                    return true;
                }
            };
            let Some(mut below) = found.filter(|_| self.fits(element, nested)) else {
                return false;
            };
            self.added += below.iter().map(Element::count).sum::<usize>();
            self.list(&mut below, nested + 1);
            element.below.splice(0..0, below);
            "GenericController".clone_into(&mut element.class);
            true
        });
    }

    fn fits(&mut self, element: &Element, nested: usize) -> bool {
        let fits = self.added < ADDED_MAX && nested < NESTED_MAX;
        if !fits {
            self.lose(
                element,
                "includes and modules are nested too deeply, or bring too many elements",
                "put the elements themselves in its place",
            );
        }
        fits
    }

    fn lose(&mut self, element: &Element, why: &str, remedy: &str) {
        self.losses
            .lose(element.at, title(element), Remedy { why, remedy });
    }

    /// The content of an included file: everything below its test plan or its first fragment.
    fn included(&mut self, element: &Element) -> Option<Vec<Element>> {
        let path = element.text("IncludeController.includepath").trim();
        let text = match self.script.files.text(path) {
            Ok(text) => text,
            Err(why) => {
                let remedy = "put the file beside the .jmx, then import again";
                self.lose(element, &why, remedy);
                return None;
            }
        };
        let included = Script {
            name: path,
            text: &text,
            files: self.script.files,
        };
        match tree::read(&included) {
            Ok(mut top) => {
                for item in &mut top {
                    item.place_all(element.at);
                }
                Some(fragment(top))
            }
            Err(error) => {
                self.lose(
                    element,
                    &error.to_string(),
                    "save the file with JMeter again",
                );
                None
            }
        }
    }

    /// The controller that a module names by its path in the tree.
    fn module(&mut self, element: &Element) -> Option<Vec<Element>> {
        let path: Vec<&str> = element
            .items("ModuleController.node_path")
            .iter()
            .map(|item| item.text.as_str())
            .collect();
        let found = target(self.whole, &path);
        if found.is_none() {
            self.lose(
                element,
                "the test plan has no controller at its path",
                "choose the module to run in JMeter again, or put the elements themselves in its place",
            );
        }
        let mut target = found.cloned()?;
        // A module runs its target even where that is disabled.
        target.is_enabled = true;
        if target.class == "TestFragmentController" || is_group(&target) {
            return Some(target.below);
        }
        Some(vec![target])
    }
}

/// The element at a path of names, which begins at the tree's root or at the test plan.
fn target<'e>(elements: &'e [Element], path: &[&str]) -> Option<&'e Element> {
    let (first, rest) = path.split_first()?;
    let here = elements.iter().filter(|element| element.name == *first);
    let found = here.into_iter().find_map(|element| match rest {
        [] => Some(element),
        rest => target(&element.below, rest),
    });
    // JMeter writes the tree's invisible root as the first name.
    let is_top = elements.iter().any(|element| element.class == "TestPlan");
    found.or_else(|| (is_top && !rest.is_empty()).then(|| target(elements, rest))?)
}

/// What an included file brings: the elements below its first test fragment, or else below its test plan.
fn fragment(top: Vec<Element>) -> Vec<Element> {
    let mut found = Vec::new();
    for element in top {
        match element.class.as_str() {
            "TestPlan" => found.extend(fragment(element.below)),
            "TestFragmentController" => found.extend(element.below),
            _ if is_group(&element) => found.extend(element.below),
            "WorkBench" => {}
            _ => found.push(element),
        }
    }
    found
}
