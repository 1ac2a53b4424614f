//! What pages that change are drawn with: charts over one time axis with one cursor, numbers, and their style.
//!
//! The live page of a run and the page of the edge share these files. They need no framework, load nothing from
//! elsewhere, run under [`POLICY`], and read their documents from a stream of [`events`].

pub mod events;

/// Nothing inline, and nothing from elsewhere.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// Media type of pages.
pub const HTML: &str = "text/html; charset=utf-8";
/// Media type of scripts.
pub const SCRIPT: &str = "text/javascript; charset=utf-8";
/// Media type of styles.
pub const STYLE: &str = "text/css; charset=utf-8";

/// A file that a page loads.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// Its name in the page.
    pub name: &'static str,
    /// Its media type.
    pub media_type: &'static str,
    /// Its content.
    pub text: &'static str,
}

/// The shared files. uPlot's licence is served with it.
pub const ASSETS: [Asset; 7] = [
    Asset {
        name: "style.css",
        media_type: STYLE,
        text: include_str!("../page/style.css"),
    },
    Asset {
        name: "uPlot.min.css",
        media_type: STYLE,
        text: include_str!("../page/uplot/uPlot.min.css"),
    },
    Asset {
        name: "uPlot.iife.min.js",
        media_type: SCRIPT,
        text: include_str!("../page/uplot/uPlot.iife.min.js"),
    },
    Asset {
        name: "uPlot.LICENSE",
        media_type: "text/plain; charset=utf-8",
        text: include_str!("../page/uplot/LICENSE"),
    },
    Asset {
        name: "format.js",
        media_type: SCRIPT,
        text: include_str!("../page/format.js"),
    },
    Asset {
        name: "charts.js",
        media_type: SCRIPT,
        text: include_str!("../page/charts.js"),
    },
    Asset {
        name: "icon.svg",
        media_type: "image/svg+xml",
        text: include_str!("../page/icon.svg"),
    },
];

/// A shared file by its name.
pub fn asset(name: &str) -> Option<Asset> {
    ASSETS.into_iter().find(|asset| asset.name == name)
}
