//! Which elements apply to a sampler: those in its own tree and those beside each of its ancestors.

use super::tree::{Element, Property};

/// The elements of one `hashTree`, and the scope around it.
#[derive(Clone, Copy)]
pub(super) struct ElementScope<'e> {
    elements: &'e [Element],
    outer: Option<&'e ElementScope<'e>>,
}

impl<'e> ElementScope<'e> {
    pub(super) fn new(elements: &'e [Element], outer: Option<&'e Self>) -> Self {
        Self { elements, outer }
    }

    /// Enabled elements of a class, the nearest first.
    pub(super) fn of<'a>(
        &'a self,
        classes: &'a [&'a str],
    ) -> impl Iterator<Item = &'e Element> + 'a {
        self.all()
            .filter(move |element| classes.contains(&element.class.as_str()))
    }

    /// All enabled elements, the nearest level first, each level in the order of the tree.
    pub(super) fn all(&self) -> impl Iterator<Item = &'e Element> + use<'e> {
        let levels = std::iter::successors(Some(*self), |scope| scope.outer.copied());
        levels
            .flat_map(|scope| scope.elements.iter())
            .filter(|element| element.is_enabled)
    }

    /// Whether an element stands in the innermost level.
    pub(super) fn is_own(&self, element: &Element) -> bool {
        self.elements.iter().any(|own| std::ptr::eq(own, element))
    }
}

/// Properties of a sampler, completed by the defaults in its scope.
pub(super) struct Merged<'e> {
    /// The sampler first, then the defaults, the nearest first.
    layers: Vec<&'e Element>,
}

impl<'e> Merged<'e> {
    pub(super) fn new(sampler: &'e Element, scope: &ElementScope<'e>) -> Self {
        let defaults = scope
            .all()
            .filter(|element| super::names::is_defaults(element));
        Self {
            layers: std::iter::once(sampler).chain(defaults).collect(),
        }
    }

    /// The first of the layers that has a value for a property.
    pub(super) fn layer(&self, property: &str) -> &'e Element {
        let with_value = self
            .layers
            .iter()
            .find(|layer| !layer.text(property).is_empty());
        with_value.unwrap_or(&self.layers[0])
    }

    pub(super) fn text(&self, property: &str) -> &'e str {
        self.layer(property).text(property)
    }

    pub(super) fn is_set_or(&self, property: &str, default: bool) -> bool {
        self.layer(property).is_set_or(property, default)
    }

    /// Arguments of the sampler and then those of the defaults; disabled ones are left out.
    pub(super) fn arguments(&self) -> Vec<&'e Property> {
        let of_layer = |layer: &&'e Element| {
            layer
                .get("HTTPsampler.Arguments")
                .map_or(&[][..], |own| own.items_of("Arguments.arguments"))
        };
        let all = self.layers.iter().flat_map(of_layer);
        all.filter(|argument| argument.text_of("HTTPArgument.enabled") != "false")
            .collect()
    }
}
