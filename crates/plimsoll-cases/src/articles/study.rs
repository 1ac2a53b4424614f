//! The sweep, and the study's results.

/// Which page is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArticleBody {
    /// The page as browsers get it.
    Page,
    /// The same questions to the database, a short answer: what the network of the study could not hide.
    Short,
}

/// What the requests go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArticlesSetup {
    Alone,
    /// The edge without its cache.
    Edge,
    Cached,
}

impl ArticleBody {
    pub(super) const ALL: [Self; 2] = [Self::Page, Self::Short];

    /// Of files, and of the path.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Short => "short",
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Page => "the page, 18,800 bytes",
            Self::Short => "the short body, 933 bytes",
        }
    }

    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Page => "/articles/",
            Self::Short => "/short/",
        }
    }

    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Page => 18_800,
            Self::Short => 933,
        }
    }

    /// Requests a second that the study's server answered at best: uncached, cached.
    pub(super) fn study(self) -> (f64, f64) {
        match self {
            Self::Page => (21.0, 50.0),
            Self::Short => (48.2, 366.7),
        }
    }
}

impl ArticlesSetup {
    pub(super) const ALL: [Self; 3] = [Self::Alone, Self::Edge, Self::Cached];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Alone => "the magazine alone",
            Self::Edge => "behind the edge without a cache",
            Self::Cached => "cached at the edge",
        }
    }

    /// The configuration of the edge, in the folder of the case.
    pub(super) fn configuration(self) -> &'static str {
        match self {
            Self::Alone | Self::Edge => "uncached.yaml",
            Self::Cached => "edge.yaml",
        }
    }
}
