//! What a request is for, by method, path and extension.

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum RequestKind {
    /// A document for a person.
    Page,
    /// Data for a program.
    Api,
    /// Scripts, styles, fonts: what a page is built from.
    Asset,
    /// Images, sound, films.
    Media,
    /// All others: forms, downloads, probes.
    Other,
}

impl RequestKind {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::Page, Self::Api, Self::Asset, Self::Media, Self::Other];

    /// Name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Api => "api",
            Self::Asset => "asset",
            Self::Media => "media",
            Self::Other => "other",
        }
    }

    /// Kind of a request. `path` is without its query; `host` where the log has it.
    pub(super) fn of(method: &str, path: &str, host: Option<&str>) -> Self {
        let name = path.rsplit('/').next().unwrap_or_default();
        // A slash at the end, or no dot: most pages.
        let by_ending = match name.rsplit_once('.') {
            Some((_, ending)) => Self::of_ending(ending),
            None => Ending::Absent,
        };
        match by_ending {
            Ending::Of(kind) => return kind,
            Ending::Page | Ending::Absent if is_api(path, host) => return Self::Api,
            Ending::Page | Ending::Absent => {}
        }
        if matches!(method, "GET" | "HEAD") {
            Self::Page
        } else {
            Self::Other
        }
    }

    fn of_ending(ending: &str) -> Ending {
        let mut lower = [0_u8; 12];
        let Some(lower) = lower.get_mut(..ending.len()) else {
            return Ending::Absent;
        };
        lower.copy_from_slice(ending.as_bytes());
        lower.make_ascii_lowercase();
        match &*lower {
            b"css" | b"js" | b"mjs" | b"map" | b"woff" | b"woff2" | b"ttf" | b"otf" | b"eot"
            | b"wasm" | b"webmanifest" | b"ico" => Ending::Of(Self::Asset),
            b"png" | b"jpg" | b"jpeg" | b"gif" | b"svg" | b"webp" | b"avif" | b"bmp" | b"cur"
            | b"mp4" | b"webm" | b"mp3" | b"ogg" | b"m4a" | b"m4s" | b"m3u8" | b"ts" | b"mov"
            | b"wav" | b"swf" | b"heic" | b"jxl" => Ending::Of(Self::Media),
            b"json" | b"jsonld" | b"graphql" | b"proto" => Ending::Of(Self::Api),
            b"txt" | b"xml" | b"rss" | b"atom" | b"pdf" | b"zip" | b"gz" | b"tar" | b"csv"
            | b"xlsx" | b"docx" | b"exe" | b"dmg" | b"iso" | b"bin" | b"env" | b"sql" | b"bak"
            | b"ics" | b"vcf" | b"epub" | b"deb" | b"rpm" | b"apk" | b"jar" | b"7z" | b"xz"
            | b"bz2" | b"tgz" => Ending::Of(Self::Other),
            b"html" | b"htm" | b"xhtml" | b"php" | b"asp" | b"aspx" | b"jsp" | b"do" | b"cgi" => {
                Ending::Page
            }
            _ => Ending::Absent,
        }
    }
}

enum Ending {
    Of(RequestKind),
    Page,
    /// None that is known; a dot may be part of a name.
    Absent,
}

/// Names of one of the first three segments of an interface for programs.
fn is_api(path: &str, host: Option<&str>) -> bool {
    if host.is_some_and(|host| host.starts_with("api.")) {
        return true;
    }
    let mut segments = path.split('/').skip(1).take(3);
    segments.any(|segment| {
        matches!(
            segment,
            "api"
                | "graphql"
                | "rest"
                | "rpc"
                | "trpc"
                | "ajax"
                | "wp-json"
                | "v1"
                | "v2"
                | "v3"
                | "v4"
                | "_api"
                | "jsonrpc"
                | "xmlrpc.php"
                | "admin-ajax.php"
                | "collect"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: &str, path: &str, expected: RequestKind) {
        assert_eq!(RequestKind::of(method, path, None), expected, "{path}");
    }

    #[test]
    fn kinds_follow_method_path_and_ending() {
        use RequestKind::{Api, Asset, Media, Other, Page};
        for (path, expected) in [
            ("/", Page),
            ("/news/2026/11/a-title", Page),
            ("/index.PHP", Page),
            ("/releases/1.2", Page),
            ("/api/items/5", Api),
            ("/shop/api/items", Api),
            ("/data/list.json", Api),
            ("/wp-admin/admin-ajax.php", Api),
            ("/a.b/app.3f2.JS", Asset),
            ("/favicon.ico", Asset),
            ("/img/x.jpeg", Media),
            ("/robots.txt", Other),
            ("/a.averyveryverylongending", Page),
            ("", Page),
            ("*", Page),
        ] {
            check("GET", path, expected);
        }
        check("POST", "/login", Other);
        check("POST", "/api/login", Api);
        check("HEAD", "/", Page);
        assert_eq!(RequestKind::of("GET", "/x", Some("api.example")), Api);
        assert_eq!(RequestKind::ALL.map(|kind| kind as usize), [0, 1, 2, 3, 4]);
    }
}
