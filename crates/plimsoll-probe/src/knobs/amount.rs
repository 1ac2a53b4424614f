//! Levels of a knob on a machine: around the value that stands today and one that usually suffices.

use super::machine::Machine;

/// Levels of a knob at most, as experiments search them.
const LEVELS_MAX: usize = 8;
/// Levels reach this factor below and above.
const REACH: f64 = 4.0;
/// Numbers above are rounded to two digits.
const EXACT_MAX: f64 = 16.0;

/// A number that may depend on the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// It does not.
    Fixed(f64),
    /// So many for each CPU.
    PerCpu(f64),
    /// A share of the memory, bytes. What usually suffices is a share of a machine that nothing else uses.
    OfMemory(f64),
    /// The cap of the kernel for backlogs of listeners.
    Backlog,
    /// The open files that a process may have.
    OpenFiles,
}

impl Amount {
    /// The number on a machine.
    pub(super) fn on(self, machine: &Machine) -> f64 {
        match self {
            Self::Fixed(number) => number,
            Self::PerCpu(share) => (share * machine.cpus as f64).max(1.0),
            Self::OfMemory(share) => share * machine.memory as f64,
            Self::Backlog => machine.somaxconn as f64,
            Self::OpenFiles => machine.open_files.min(1_000_000) as f64,
        }
    }

    fn words(self, unit: u64, suffix: &str) -> String {
        match self {
            Self::Fixed(number) => format!("{:.0}{suffix}", number / unit as f64),
            Self::PerCpu(share) => format!("{share} per CPU"),
            Self::OfMemory(share) => format!("{:.0} % of memory", share * 100.0),
            Self::Backlog => "net.core.somaxconn".to_owned(),
            Self::OpenFiles => "open files".to_owned(),
        }
    }
}

/// Levels that make sense.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KnobLevels {
    /// Numbers on a geometric scale.
    Number {
        /// Least.
        least: u64,
        /// Most.
        most: Amount,
        /// A value that usually suffices.
        usual: Amount,
        /// How much a 1 in the configuration means: bytes of a megabyte.
        unit: u64,
        /// What follows a number in the configuration.
        suffix: &'static str,
        /// Whether 0, for no limit, is a level whatever stands.
        has_none: bool,
    },
    /// Words, the usual ones; that which stands is added. Empty where only what stands is known.
    Words(&'static [&'static str]),
}

impl KnobLevels {
    pub(super) const fn number(
        least: u64,
        most: Amount,
        usual: Amount,
        unit: u64,
        suffix: &'static str,
    ) -> Self {
        Self::Number {
            least,
            most,
            usual,
            unit,
            suffix,
            has_none: false,
        }
    }

    /// Counts of which 0 means no limit, which is tried as well.
    pub(super) const fn count_or_none(least: u64, most: Amount, usual: Amount) -> Self {
        Self::Number {
            least,
            most,
            usual,
            unit: 1,
            suffix: "",
            has_none: true,
        }
    }

    /// In words, for the reference: the range, or the words.
    pub fn words(self) -> String {
        match self {
            Self::Number {
                least,
                most,
                unit,
                suffix,
                has_none,
                ..
            } => format!(
                "{}{suffix} to {}{}",
                least / unit.max(1),
                most.words(unit, suffix),
                if has_none { ", or 0" } else { "" }
            ),
            Self::Words([]) => "half to four times the present numbers".to_owned(),
            Self::Words(words) => words.join(", "),
        }
    }

    /// The levels around the value that stands, and how much less than usual it is: the logarithm of the ratio to
    /// base 2, 0 where it suffices. `None` where no other level is left.
    pub(super) fn around(self, now: &str, machine: &Machine) -> Option<Scale> {
        let scale = match self {
            Self::Words([]) => multiples(now)?,
            Self::Words(words) => of_words(words, now),
            Self::Number {
                least,
                most,
                usual,
                unit,
                suffix,
                has_none,
            } => {
                let range = Range {
                    least: least as f64,
                    most: most.on(machine),
                    usual: usual.on(machine),
                    unit: unit as f64,
                    suffix,
                    has_none,
                };
                range.around(now)?
            }
        };
        (scale.levels.len() > 1).then_some(scale)
    }
}

/// Levels of a knob on a machine.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    /// Ascending, except for words and for 0, which means no limit.
    pub(super) levels: Vec<String>,
    /// The one that stands.
    pub(super) now: String,
    /// How much less than usual it is, as a power of 2.
    pub(super) tightness: f64,
    /// The least level that usually suffices, where what stands does not.
    pub(super) usual: Option<String>,
}

impl Scale {
    /// What usually suffices among the levels that are left; the highest where that is beyond what is possible here.
    pub(super) fn usual_left(&self) -> Option<String> {
        let usual = self.usual.as_ref()?;
        let highest = || self.levels.last().filter(|level| **level != self.now);
        let found = self.levels.iter().find(|level| *level == usual);
        found.or_else(highest).cloned()
    }

    /// Levels in whole steps, at least one; the one that stands stays.
    pub(super) fn in_steps(&mut self, step: u64) {
        if step <= 1 {
            return;
        }
        let now = self.now.clone();
        let rounded = |level: String| match level.parse::<u64>() {
            Ok(number) if level != now && number > 0 => {
                let steps = number.saturating_add(step / 2) / step;
                steps.max(1).saturating_mul(step).to_string()
            }
            _ => level,
        };
        self.usual = self.usual.take().map(rounded);
        let levels = std::mem::take(&mut self.levels).into_iter();
        self.levels = levels.map(rounded).collect();
        self.levels
            .sort_by_key(|level| level.parse::<u64>().unwrap_or(u64::MAX));
        self.levels.dedup();
    }

    /// No levels: the value is not known.
    pub(super) fn unknown(now: &str) -> Self {
        Self {
            levels: Vec::new(),
            now: now.to_owned(),
            tightness: 0.0,
            usual: None,
        }
    }
}

fn of_words(words: &[&str], now: &str) -> Scale {
    let mut levels: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let known = levels.iter().find(|level| level.eq_ignore_ascii_case(now));
    let now = if let Some(known) = known {
        known.clone()
    } else {
        levels.insert(0, now.to_owned());
        now.to_owned()
    };
    Scale {
        levels,
        now,
        tightness: 0.0,
        usual: None,
    }
}

/// Several numbers, each halved, doubled and quadrupled.
fn multiples(now: &str) -> Option<Scale> {
    let numbers: Option<Vec<u64>> = now
        .split_whitespace()
        .map(|word| word.parse().ok())
        .collect();
    let numbers = numbers.filter(|numbers| !numbers.is_empty())?;
    let level = |times: u64| {
        let numbers = numbers
            .iter()
            .map(|number| (number * times / 2).to_string());
        numbers.collect::<Vec<_>>().join(" ")
    };
    Some(Scale {
        levels: [1, 2, 4, 8].map(level).to_vec(),
        now: level(2),
        tightness: 0.0,
        usual: None,
    })
}

struct Range {
    least: f64,
    most: f64,
    usual: f64,
    unit: f64,
    suffix: &'static str,
    has_none: bool,
}

impl Range {
    fn around(&self, now: &str) -> Option<Scale> {
        let value = number(now, self.unit)?;
        if value <= 0.0 {
            // It means no limit; the levels are those of a limit.
            let mut scale = self.geometric(self.usual.clamp(self.least, self.most));
            let none = format!("0{}", self.suffix);
            scale.levels.truncate(LEVELS_MAX - 1);
            scale.levels.push(none.clone());
            scale.now = none;
            (scale.tightness, scale.usual) = (0.0, None);
            return Some(scale);
        }
        let mut scale = self.geometric(value);
        if self.has_none {
            // The highest makes room for it, unless that stands.
            if scale.levels.len() == LEVELS_MAX && scale.levels.last() != Some(&scale.now) {
                scale.levels.pop();
            }
            if scale.levels.len() < LEVELS_MAX {
                scale.levels.push(format!("0{}", self.suffix));
            }
        }
        Some(scale)
    }

    fn geometric(&self, value: f64) -> Scale {
        let low = (value.min(self.usual) / REACH).max(self.least).min(value);
        let high = (value.max(self.usual) * REACH).min(self.most).max(value);
        let (down, up) = ((value / low).log2(), (high / value).log2());
        let steps = LEVELS_MAX as f64 - 1.0;
        let step = if down.floor() + up.floor() <= steps {
            1.0
        } else {
            // One step more below and above than whole numbers of them have room for would be too many.
            (down + up) / (steps - 1.0)
        };
        let is_coarse = step > 1.0;
        let mut levels: Vec<f64> = vec![value];
        let mut at = 1.0;
        while at * step <= down + 1e-9 {
            levels.insert(0, self.rounded(value / (at * step).exp2(), is_coarse));
            at += 1.0;
        }
        at = 1.0;
        while at * step <= up + 1e-9 {
            levels.push(self.rounded(value * (at * step).exp2(), is_coarse));
            at += 1.0;
        }
        let enough = levels.iter().find(|level| **level >= self.usual);
        let usual = enough.or(levels.last()).filter(|level| **level > value);
        let usual = usual.map(|level| self.written(*level));
        let mut levels: Vec<String> = levels.iter().map(|&level| self.written(level)).collect();
        levels.dedup();
        levels.truncate(LEVELS_MAX);
        Scale {
            levels,
            now: self.written(value),
            tightness: (self.usual / value).log2().clamp(0.0, 6.0),
            usual: usual.filter(|_| self.usual > value),
        }
    }

    /// A whole number of units within the range, of two digits where it is large and no doubling of what stands.
    fn rounded(&self, value: f64, is_coarse: bool) -> f64 {
        let units = value / self.unit;
        let digits = if is_coarse && units > EXACT_MAX {
            10_f64.powf((units.log10().floor() - 1.0).max(0.0))
        } else {
            1.0
        };
        let rounded = (units / digits).round().max(1.0) * digits * self.unit;
        rounded.clamp(self.least, self.most.max(self.least))
    }

    /// As the configuration has it.
    fn written(&self, value: f64) -> String {
        format!("{:.0}{}", value / self.unit, self.suffix)
    }
}

/// A number with a unit behind it; a bare number is in `unit`.
pub(super) fn number(text: &str, unit: f64) -> Option<f64> {
    let text = text.trim().trim_matches(['\'', '"']);
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    let factor = match text[end..].trim().to_ascii_lowercase().as_str() {
        "" => unit,
        "k" | "kb" | "kib" => 1024.0,
        "m" | "mb" | "mib" => 1_048_576.0,
        "g" | "gb" | "gib" => 1_073_741_824.0,
        "ms" => 0.001,
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MACHINE: Machine = Machine {
        cpus: 2,
        memory: 8 << 30,
        available: 6 << 30,
        somaxconn: 4096,
        open_files: 65_536,
    };

    fn levels(levels: KnobLevels, now: &str) -> Vec<String> {
        let scale = levels.around(now, &MACHINE).unwrap();
        assert!(scale.levels.contains(&scale.now), "{scale:?}");
        scale.levels
    }

    #[test]
    fn levels_surround_what_stands_and_what_is_usual() {
        let workers = KnobLevels::number(1, Amount::PerCpu(8.0), Amount::PerCpu(2.0), 1, "");
        assert_eq!(levels(workers, "1"), ["1", "2", "4", "8", "16"]);
        assert_eq!(levels(workers, "3"), ["2", "3", "6", "12"]);
        let buffers = KnobLevels::number(
            16 << 20,
            Amount::OfMemory(0.4),
            Amount::OfMemory(0.25),
            1 << 20,
            "MB",
        );
        let sizes = levels(buffers, "128MB");
        assert_eq!(sizes.first().unwrap(), "32MB");
        assert!(
            sizes.len() <= 8 && sizes.contains(&"128MB".to_owned()),
            "{sizes:?}"
        );
        let seconds = KnobLevels::number(1, Amount::Fixed(60.0), Amount::Fixed(2.0), 1, "s");
        assert_eq!(levels(seconds, "5s"), ["1s", "3s", "5s", "10s", "20s"]);
    }

    #[test]
    fn zero_is_no_limit_and_comes_last() {
        let conns = KnobLevels::number(1, Amount::Fixed(8192.0), Amount::PerCpu(64.0), 1, "");
        let levels = levels(conns, "0");
        assert_eq!(levels.last().unwrap(), "0");
        assert!(levels.len() <= 8);
    }

    #[test]
    fn no_limit_is_a_level_where_it_is_sensible() {
        let lives = KnobLevels::count_or_none(100, Amount::Fixed(1e5), Amount::Fixed(1e4));
        let few = lives.around("50", &MACHINE).unwrap();
        assert_eq!(few.levels.last().unwrap(), "0");
        assert!(few.levels.len() <= 8 && few.usual.is_some(), "{few:?}");
        assert_eq!(levels(lives, "10000").last().unwrap(), "0");
        assert_eq!(
            levels(lives, "0")
                .iter()
                .filter(|level| *level == "0")
                .count(),
            1
        );
    }

    #[test]
    fn words_keep_what_stands() {
        let words = KnobLevels::Words(&["on", "off"]);
        assert_eq!(levels(words, "On"), ["on", "off"]);
        assert_eq!(levels(KnobLevels::Words(&["1", "0"]), "2"), ["2", "1", "0"]);
        assert_eq!(
            levels(KnobLevels::Words(&[]), "10 20 40"),
            ["5 10 20", "10 20 40", "20 40 80", "40 80 160"]
        );
        assert!(KnobLevels::Words(&["a"]).around("a", &MACHINE).is_none());
    }

    #[test]
    fn tightness_is_what_is_missing_to_the_usual() {
        let workers = KnobLevels::number(1, Amount::PerCpu(8.0), Amount::PerCpu(2.0), 1, "");
        let tight = |now| workers.around(now, &MACHINE).unwrap().tightness;
        assert!((tight("1") - 2.0).abs() < 1e-9);
        assert!(tight("8").abs() < 1e-9);
    }

    #[test]
    fn the_least_level_that_usually_suffices_is_named() {
        let workers = KnobLevels::number(1, Amount::PerCpu(8.0), Amount::PerCpu(2.0), 1, "");
        let usual = |now| workers.around(now, &MACHINE).unwrap().usual;
        assert_eq!(usual("1").as_deref(), Some("4"));
        assert_eq!(usual("3").as_deref(), Some("6"));
        // What stands suffices, or is no limit.
        assert_eq!((usual("4"), usual("0")), (None, None));
        let few = KnobLevels::number(1, Amount::Fixed(3.0), Amount::Fixed(8.0), 1, "");
        let highest = few.around("1", &MACHINE).unwrap();
        assert_eq!(highest.usual, highest.levels.last().cloned());
    }

    #[test]
    fn levels_in_steps_keep_what_stands() {
        let workers = KnobLevels::number(8, Amount::Fixed(4096.0), Amount::Fixed(128.0), 1, "");
        let steps = |now: &str, step| {
            let mut scale = workers.around(now, &MACHINE).unwrap();
            scale.in_steps(step);
            (scale.levels, scale.usual)
        };
        let (levels, usual) = steps("45", 15);
        assert_eq!(levels, ["15", "30", "45", "90", "180", "360"]);
        assert_eq!(usual.as_deref(), Some("180"));
        // Less than a step, and not whole steps, may stand.
        let (levels, _) = steps("20", 25);
        assert_eq!(levels, ["20", "25", "50", "75", "150", "325"]);
        assert_eq!(steps("45", 1).0, ["11", "23", "45", "90", "180", "360"]);
    }

    #[test]
    fn units_of_configurations() {
        for (text, bytes) in [
            ("128MB", 134_217_728.0),
            ("64", 64.0),
            ("10s", 10.0),
            ("5min", 300.0),
            ("'1g'", 1_073_741_824.0),
        ] {
            assert!((number(text, 1.0).unwrap() - bytes).abs() < 1e-6, "{text}");
        }
        assert_eq!(number("auto", 1.0), None);
        assert_eq!(number("1 of 2", 1.0), None);
    }

    proptest! {
        #[test]
        fn numbers_give_at_most_eight_ascending_levels_with_the_present(
            now in 1_u64..1_000_000,
            usual in 1_u64..1_000_000,
        ) {
            let levels = KnobLevels::number(1, Amount::Fixed(1e7), Amount::Fixed(usual as f64), 1, "");
            let scale = levels.around(&now.to_string(), &MACHINE).unwrap();
            prop_assert!(scale.levels.len() <= 8, "{:?}", scale);
            prop_assert!(scale.levels.contains(&now.to_string()), "{:?}", scale);
            let numbers: Vec<u64> = scale.levels.iter().map(|level| level.parse().unwrap()).collect();
            prop_assert!(numbers.is_sorted(), "{:?}", numbers);
        }
    }
}
