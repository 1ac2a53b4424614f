//! Requested paths, with variable segments as placeholders: `/article/17` and `/article/23` are one.

use std::collections::{BTreeMap, HashMap};

use percent_encoding::percent_decode_str;

use crate::{heuristics, path_ending};

/// Most paths in the table at a time.
const PATTERNS_MAX: usize = 5_000;
/// Sampled values per path; each request has the same chance.
const SAMPLE_MAX: usize = 200;
/// Longest path in the table, bytes.
const PATH_LEN_MAX: usize = 2_048;
/// This many siblings are values of one placeholder.
const SIBLINGS_MIN: usize = 30;

/// A path with placeholders.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Pattern {
    pub(super) method: String,
    /// Literal parts; a placeholder is between each two.
    pub(super) literals: Vec<String>,
    /// Names of the placeholders.
    pub(super) names: Vec<String>,
}

/// Statistics of a path.
#[derive(Clone, Debug, Default)]
pub(super) struct PathStats {
    pub(super) count: u64,
    /// Responses of 400 and more, or none.
    pub(super) bad: u64,
    /// Values of the placeholders, a sample of all.
    pub(super) sample: Vec<Vec<String>>,
}

/// A bounded table of paths.
#[derive(Debug, Default)]
pub(super) struct Paths {
    table: HashMap<Pattern, PathStats>,
    /// Requests for paths that were too rare or too long for the table.
    pub(super) rare: u64,
    /// Parameters left out because they are secret.
    pub(super) secrets: u64,
    random: Random,
}

impl Paths {
    pub(super) fn add(&mut self, method: &str, path: &str, is_bad: bool) {
        if path.len() > PATH_LEN_MAX {
            self.rare += 1;
            return;
        }
        let (pattern, values) = self.take_apart(method, path);
        if self.table.len() >= PATTERNS_MAX && !self.table.contains_key(&pattern) {
            self.shrink();
        }
        let stat = self.table.entry(pattern).or_default();
        stat.count += 1;
        stat.bad += u64::from(is_bad);
        if values.is_empty() {
            return;
        }
        // Algorithm R: every request's values have the same chance to be in the sample.
        if stat.sample.len() < SAMPLE_MAX {
            stat.sample.push(values);
        } else if let Ok(at) = usize::try_from(self.random.below(stat.count))
            && let Some(place) = stat.sample.get_mut(at)
        {
            *place = values;
        }
    }

    /// The paths, the most frequent first; siblings are merged into one with a placeholder.
    pub(super) fn ranked(mut self) -> (Vec<(Pattern, PathStats)>, u64) {
        self.merge_siblings();
        let mut ranked: Vec<_> = self.table.into_iter().collect();
        ranked.sort_by(|(a, x), (b, y)| y.count.cmp(&x.count).then_with(|| a.cmp(b)));
        (ranked, self.rare)
    }

    fn take_apart(&mut self, method: &str, path: &str) -> (Pattern, Vec<String>) {
        let (path, query) = path
            .split_once('?')
            .map_or((path, None), |(path, query)| (path, Some(query)));
        let path = path.split('#').next().unwrap_or_default();
        let mut pattern = Pattern {
            method: method.to_owned(),
            literals: vec![String::new()],
            names: Vec::new(),
        };
        let mut values = Vec::new();
        let mut before = "page";
        for (index, segment) in path.split('/').enumerate() {
            if index > 0 {
                pattern.literal("/");
            }
            if is_variable_segment(segment) {
                pattern.hole(before);
                values.push(segment.to_owned());
            } else {
                pattern.literal(segment);
                before = if segment.is_empty() { before } else { segment };
            }
        }
        let mut mark = "?";
        for pair in query
            .unwrap_or_default()
            .split('&')
            .filter(|pair| !pair.is_empty())
        {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if heuristics::parameter_is_secret(pair) {
                self.secrets += 1;
                continue;
            }
            pattern.literal(mark);
            pattern.literal(name);
            mark = "&";
            if pair.contains('=') {
                pattern.literal("=");
            }
            if !value.is_empty() {
                pattern.hole(name);
                values.push(value.to_owned());
            }
        }
        (pattern, values)
    }

    fn shrink(&mut self) {
        self.merge_siblings();
        if self.table.len() < PATTERNS_MAX / 2 {
            return;
        }
        let mut counts: Vec<u64> = self.table.values().map(|stat| stat.count).collect();
        counts.sort_unstable();
        let least = counts[counts.len() / 2];
        let rare = &mut self.rare;
        self.table.retain(|_, stat| {
            let stays = stat.count > least;
            *rare += if stays { 0 } else { stat.count };
            stays
        });
    }

    /// Many paths that differ only in their last segment become one with a placeholder.
    fn merge_siblings(&mut self) {
        let mut families: BTreeMap<(String, String), Vec<Pattern>> = BTreeMap::new();
        for pattern in self.table.keys() {
            if let Some((parent, name)) = pattern.parent()
                && !is_asset(name)
            {
                families
                    .entry((pattern.method.clone(), parent.to_owned()))
                    .or_default()
                    .push(pattern.clone());
            }
        }
        for ((method, parent), mut children) in families {
            if children.len() < SIBLINGS_MIN {
                continue;
            }
            children.sort();
            let before = parent
                .trim_end_matches('/')
                .rsplit('/')
                .next()
                .filter(|name| !name.is_empty())
                .unwrap_or("page");
            let mut merged = Pattern {
                method,
                literals: vec![parent.clone()],
                names: Vec::new(),
            };
            merged.hole(before);
            let removed: Vec<(Pattern, PathStats)> = children
                .into_iter()
                .filter_map(|child| self.table.remove_entry(&child))
                .collect();
            let stat = self.table.entry(merged).or_default();
            let total: u64 = removed.iter().map(|(_, child)| child.count).sum::<u64>() + stat.count;
            // Sampled values keep their share beside new ones.
            let kept = usize::try_from(SAMPLE_MAX as u64 * stat.count / total.max(1))
                .unwrap_or(SAMPLE_MAX);
            stat.sample.truncate(kept.max(1));
            for (child, own) in removed {
                stat.count += own.count;
                stat.bad += own.bad;
                let share = (SAMPLE_MAX as u64 * own.count).div_ceil(total.max(1));
                let name = child
                    .parent()
                    .map(|(_, name)| name.to_owned())
                    .unwrap_or_default();
                for _ in 0..share {
                    stat.sample.push(vec![name.clone()]);
                }
            }
        }
    }
}

impl Pattern {
    fn literal(&mut self, text: &str) {
        if let Some(last) = self.literals.last_mut() {
            last.push_str(text);
        }
    }

    fn hole(&mut self, name: &str) {
        let is_free = |name: &String| !self.names.contains(name);
        let name = heuristics::free_name(heuristics::slot_name(name), is_free);
        self.names.push(name);
        self.literals.push(String::new());
    }

    /// Folder and last name of a path without placeholders and query.
    fn parent(&self) -> Option<(&str, &str)> {
        let [path] = self.literals.as_slice() else {
            return None;
        };
        if path.contains('?') {
            return None;
        }
        let at = path.rfind('/')? + 1;
        let (parent, name) = path.split_at(at);
        (!name.is_empty()).then_some((parent, name))
    }

    /// Whether browsers request it as a resource of a page.
    pub(super) fn is_asset(&self) -> bool {
        self.literals.last().is_some_and(|last| {
            let path = self.literals.concat();
            is_asset(path.split('?').next().unwrap_or(last))
        })
    }

    /// `GET /article/{id}`.
    pub(super) fn label(&self) -> String {
        let mut label = format!("{} ", self.method);
        for (index, literal) in self.literals.iter().enumerate() {
            label.push_str(literal);
            if let Some(name) = self
                .names
                .get(index)
                .filter(|_| index + 1 < self.literals.len())
            {
                label.push('{');
                label.push_str(if literal.ends_with('=') { name } else { "id" });
                label.push('}');
            }
        }
        label
    }
}

/// Whether a segment is a variable value.
fn is_variable_segment(segment: &str) -> bool {
    if segment.is_empty() || is_asset(segment) {
        return false;
    }
    // Digits of percent-encoded bytes belong to letters: `/caf%C3%A9`.
    let plain: String = percent_decode_str(segment).decode_utf8_lossy().into_owned();
    let digits = plain.bytes().filter(u8::is_ascii_digit).count();
    digits == plain.len() || digits >= 4 || heuristics::is_id_segment(&plain)
}

/// Whether a path has the extension of a resource.
pub(super) fn is_asset(path: &str) -> bool {
    path_ending::of(path).is_some_and(|ending| {
        path_ending::is_page_file(&ending) || matches!(ending.as_str(), "ogg" | "swf")
    })
}

/// Pseudo-random numbers for samples: the same log gives the same plan (splitmix64).
#[derive(Debug, Default)]
struct Random(u64);

impl Random {
    /// A number below `bound`, which is above 0.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_become_holes_and_files_of_pages_stay() {
        let mut paths = Paths::default();
        for path in [
            "/article/17",
            "/article/23",
            "/article/23?page=2&token=abc",
            "/s/app.3fa8b1c2d9.js",
            "/about",
            "/caf%C3%A9-%22x%22-%C3%A9",
        ] {
            paths.add("GET", path, false);
        }
        assert_eq!(paths.secrets, 1);
        let (ranked, _) = paths.ranked();
        let labels: Vec<_> = ranked
            .iter()
            .map(|(pattern, stat)| (pattern.label(), stat.count))
            .collect();
        let expected = [
            ("GET /article/{id}", 2),
            ("GET /about", 1),
            ("GET /article/{id}?page={page}", 1),
            ("GET /caf%C3%A9-%22x%22-%C3%A9", 1),
            ("GET /s/app.3fa8b1c2d9.js", 1),
        ];
        let mut labels: Vec<_> = labels
            .iter()
            .map(|(label, count)| (label.as_str(), *count))
            .collect();
        labels[1..].sort_unstable();
        assert_eq!(labels, expected);
    }

    #[test]
    fn many_names_side_by_side_become_one() {
        let mut paths = Paths::default();
        for number in 0..40_u32 {
            let name: String = format!("{number:05b}")
                .chars()
                .map(|c| if c == '1' { 'a' } else { 'b' })
                .collect();
            for _ in 0..=number {
                paths.add("GET", &format!("/news/{name}"), false);
            }
        }
        let (ranked, rare) = paths.ranked();
        assert_eq!(ranked.len(), 1);
        assert_eq!(ranked[0].0.label(), "GET /news/{id}");
        assert_eq!((ranked[0].1.count, rare), (820, 0));
        assert!(ranked[0].1.sample.len() >= 40);
    }

    #[test]
    fn the_table_stays_small_and_what_is_frequent_stays_in_it() {
        let mut paths = Paths::default();
        let letters = |number: usize| -> String {
            format!("{number:x}")
                .chars()
                .map(|c| char::from(b'g' + u8::try_from(c.to_digit(16).unwrap()).unwrap()))
                .collect()
        };
        for number in 0..20_000 {
            paths.add(
                "GET",
                &format!("/{}/{}/x", letters(number), letters(number / 7)),
                false,
            );
            paths.add("GET", "/home", false);
        }
        assert!(paths.table.len() <= PATTERNS_MAX);
        let (ranked, rare) = paths.ranked();
        assert_eq!(
            (ranked[0].0.label().as_str(), ranked[0].1.count),
            ("GET /home", 20_000)
        );
        assert!(rare > 0);
    }
}
