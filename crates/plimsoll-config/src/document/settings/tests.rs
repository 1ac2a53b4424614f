use std::time::Duration;

use super::{count, one_of, share, size, switch, text, time};
use crate::document::Shape::{ListOf, Text};
use crate::document::{
    DocumentReader, SettingKind as _, SettingsMap as _, TestSurroundings, section,
};

settings! {
    /// A kettle, which boils water.
    #[derive(Clone, Debug, PartialEq)]
    struct Kettle, KETTLE "kettle" {
        /// Its number, which no file has.
        number: u32 = 7;
        /// Time until it
        /// switches off.
        off_after: Duration = Duration::from_mins(5), "off_after": time();
        /// Level, of which {default} is usual; 9 is hot.
        level: u32 = 4, "level": count(1..=9);
        /// Volume, {range}.
        volume: Option<u64> = None, "volume": size(1024..=1 << 30);
        /// Share of vapour.
        vapour: f64 = 0.1, "steam": share("a share such as 5%");
        /// Whether it whistles.
        whistles: bool = true, "whistles": switch(), unsaid;
        /// Its metal.
        metal: char = 'c', "metal": one_of!["copper" => 'c', "iron" => 'i'];
        /// Its maker. Default: any.
        maker: String = "x".to_owned(), "maker": text("a name").that(|name| name.len() < 4, "short");
        /// Its guests.
        guests: Vec<String> = Vec::new(), "guests": ListOf(&Text) => guests;
        /// Number of cups.
        cups: usize = 0, "cups": Text => later;
        /// A word of the file alone.
        "note": Text;
    }
}

fn guests(
    reader: &DocumentReader<'_>,
    node: &crate::document::DocumentNode,
) -> Option<Vec<String>> {
    let items = reader.list(node, "guests");
    items
        .iter()
        .map(|item| reader.word(item, "a name"))
        .collect()
}

/// The kettle of a text, and its errors.
fn kettle(document: &str) -> (Option<Kettle>, Vec<String>) {
    let nowhere = TestSurroundings::default();
    let reader = DocumentReader::new(document, &nowhere);
    let root = reader.root().unwrap();
    let kettle = Kettle::from_switch_or_map(&reader, &root);
    let errors = reader.finish(Some(())).err();
    (
        kettle,
        errors.map_or_else(Vec::new, |errors| errors.lines("f")),
    )
}

#[test]
fn what_is_missing_has_its_default() {
    assert_eq!(kettle("true").0, Some(Kettle::defaults()));
    assert_eq!(kettle("false"), (None, Vec::new()));
    let (read, errors) =
        kettle("off_after: 90s\nsteam: 0.5\nmetal: iron\nvolume: 2KiB\nguests: [a, b]\nnote: x");
    let expected = Kettle {
        off_after: Duration::from_secs(90),
        vapour: 0.5,
        metal: 'i',
        volume: Some(2048),
        guests: vec!["a".to_owned(), "b".to_owned()],
        ..Kettle::defaults()
    };
    assert_eq!((read, errors), (Some(expected), Vec::new()));
}

#[test]
fn every_error_is_reported_and_leaves_the_default() {
    let (read, errors) = kettle("off_after: 0\nlevel: 10\nvolume: 9\nmaker: long\nmaterial: iron");
    assert_eq!(read, Some(Kettle::defaults()));
    insta::assert_snapshot!(errors.join("\n"), @r"
    f:1:12: in `0`: must be above zero; valid: 1us to 8760h
    f:2:8: `10` is out of range; valid: a whole number from 1 to 9
    f:3:9: 9 bytes is out of range; valid: a size from 1KiB to 1GiB
    f:4:8: `long` is not short; valid: a name
    f:5:1: unknown key `material`; valid: off_after, level, volume, steam, whistles, metal, maker, guests, cups, note
    ");
}

#[test]
fn the_reference_has_range_and_default() {
    let mut page = String::new();
    section(&mut page, &KETTLE);
    insta::assert_snapshot!(page, @r"
    ## `kettle`

    A kettle, which boils water.

    | key | value | meaning |
    |---|---|---|
    | `off_after` | duration | Time until it switches off. Default: 5m. |
    | `level` | 1 to 9 | Level, of which 4 is usual; 9 is hot. |
    | `volume` | size | Volume, 1KiB to 1GiB. |
    | `steam` | text | Share of vapour. Default: 10%. |
    | `whistles` | `true` or `false` | Whether it whistles. |
    | `metal` | `copper`, `iron` | Its metal. Default: `copper`. |
    | `maker` | text | Its maker. Default: any. |
    | `guests` | list of text | Its guests. |
    | `cups` | text | Number of cups. |
    | `note` | text | A word of the file alone. |
    ");
}

#[test]
fn a_time_within_bounds_names_them() {
    let document = "a: 2h";
    let nowhere = TestSurroundings::default();
    let reader = DocumentReader::new(document, &nowhere);
    let root = reader.root().unwrap();
    let kind = time().within(Duration::from_secs(1), Duration::from_hours(1), "1s to 1h");
    assert_eq!(kind.read(&reader, root.get("a").unwrap()), None);
    let errors = reader.finish(Some(())).unwrap_err();
    assert_eq!(
        errors.lines("f"),
        ["f:1:4: 2h is out of range; valid: 1s to 1h"]
    );
}
