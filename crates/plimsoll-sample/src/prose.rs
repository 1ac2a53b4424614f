//! Plausible news, generated from a seed: the same articles on every machine.

use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

/// Sections of the paper; their order is that of the navigation.
pub(crate) const SECTIONS: [&str; 8] = [
    "Politics", "Economy", "World", "Science", "Culture", "Sport", "Travel", "Opinion",
];
pub(crate) const TOPICS: [&str; 16] = [
    "Elections",
    "Energy",
    "Housing",
    "Railways",
    "Harbours",
    "Climate",
    "Schools",
    "Health",
    "Football",
    "Theatre",
    "Space",
    "Farming",
    "Taxes",
    "Forests",
    "Bridges",
    "Libraries",
];
pub(crate) const AUTHORS: [&str; 12] = [
    "Ada Brandt",
    "Jonas Keller",
    "Mira Osei",
    "Peter Lindqvist",
    "Rosa Almeida",
    "Tomas Novak",
    "Eun-ji Park",
    "Clara Weiss",
    "Idris Bello",
    "Lena Hofer",
    "Marco Conti",
    "Saoirse Byrne",
];
const BODIES: [&str; 12] = [
    "the city council",
    "the ministry",
    "a panel of experts",
    "the port authority",
    "the opposition",
    "the regional court",
    "a group of residents",
    "the rail operator",
    "the national bank",
    "the university",
    "the harbour union",
    "the film board",
];
const VERBS: [&str; 10] = [
    "approves",
    "delays",
    "reviews",
    "rejects",
    "defends",
    "extends",
    "halves",
    "reopens",
    "questions",
    "welcomes",
];
const PAST: [&str; 10] = [
    "approved",
    "delayed",
    "reviewed",
    "rejected",
    "defended",
    "extended",
    "halved",
    "reopened",
    "questioned",
    "welcomed",
];
const THINGS: [&str; 14] = [
    "the new bridge",
    "a plan for night trains",
    "the budget for schools",
    "its forecast for the winter",
    "the flood wall",
    "a tax on empty houses",
    "the old theatre",
    "the offshore wind farm",
    "rules for short lets",
    "the stadium's roof",
    "a treaty on fishing",
    "the reading list",
    "the sale of its shares",
    "the cycling network",
];
const PLACES: [&str; 12] = [
    "Port Ellery",
    "Westmark",
    "Old Quay",
    "Lindenau",
    "Santa Rosalia",
    "Kirkholm",
    "the Upper Valley",
    "Marienfeld",
    "Bellhaven",
    "Novigrad",
    "the Eastern Isles",
    "Tarnow Bridge",
];
const WHEN: [&str; 8] = [
    "on Monday",
    "after a long debate",
    "late on Thursday",
    "for the third time this year",
    "without a vote",
    "to general surprise",
    "two weeks early",
    "behind closed doors",
];
const REASONS: [&str; 10] = [
    "costs have risen by {n} per cent since spring",
    "only {n} of the promised projects are finished",
    "the figures \"do not add up\"",
    "there is no money before next year",
    "nobody had asked the people who live there",
    "the weather leaves no other choice",
    "the contract runs out in {n} weeks",
    "a report had named {n} faults",
    "the first {n} months went better than planned",
    "the law gives them {n} days",
];
const CLOSERS: [&str; 8] = [
    "A decision is expected within {n} weeks",
    "Critics call the step *overdue*",
    "The vote passed with {n} against 12",
    "Shares fell by {n} points before recovering",
    "More than {n}00 people signed a letter of protest",
    "Work is to begin **in the autumn**",
    "Neighbouring towns watch closely",
    "The minister declined to comment",
];

/// An article before it has a place in the database.
pub(crate) struct Draft {
    pub(crate) title: String,
    pub(crate) body: String,
    /// Indexes into [`SECTIONS`], [`AUTHORS`] and [`TOPICS`].
    pub(crate) section: u32,
    pub(crate) author: u32,
    pub(crate) topics: [u32; 2],
    pub(crate) comments: i64,
}

/// Generates articles.
pub(crate) struct Newsroom {
    dice: Xoshiro256PlusPlus,
}

impl Newsroom {
    pub(crate) fn open(seed: u64) -> Self {
        Self {
            dice: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    pub(crate) fn draft(&mut self) -> Draft {
        let title = capital(&format!(
            "{} {} {}",
            self.pick(&BODIES),
            self.pick(&VERBS),
            self.pick(&THINGS)
        ));
        let topics = [self.place(&TOPICS), self.place(&TOPICS)];
        let mut body = String::new();
        for section in 0..3 {
            if section > 0 {
                let heading = capital(self.pick(&THINGS));
                body.extend(["## ", &heading, "\n\n"]);
            }
            for _ in 0..4 {
                let paragraph = self.paragraph(topics[section % 2]);
                body.push_str(&paragraph);
            }
            let quote = self.reason();
            body.extend(["> \"", &quote, ",\" said ", self.pick(&AUTHORS), "\n\n"]);
        }
        Draft {
            title,
            body,
            section: self.place(&SECTIONS),
            author: self.place(&AUTHORS),
            topics,
            comments: self.dice.random_range(0..12),
        }
    }

    /// A reader's comment.
    pub(crate) fn remark(&mut self) -> String {
        format!("{}. Is it true that {}?", self.closer(), self.reason())
    }

    fn paragraph(&mut self, topic: u32) -> String {
        let name = TOPICS[topic as usize];
        let link = format!("[{}](/topic/{})", name.to_lowercase(), name.to_lowercase());
        let first = format!(
            "{} in {} {} {} {}, because {}.",
            capital(self.pick(&BODIES)),
            self.pick(&PLACES),
            self.pick(&PAST),
            self.pick(&THINGS),
            self.pick(&WHEN),
            self.reason()
        );
        let second = format!("{} -- and with it the debate on {link}.", self.closer());
        let third = format!(
            "In {}, {} had {} {} earlier; {}.",
            self.pick(&PLACES),
            self.pick(&BODIES),
            self.pick(&PAST),
            self.pick(&THINGS),
            self.reason()
        );
        format!("{first} {second} {third}\n\n")
    }

    fn reason(&mut self) -> String {
        let reason = self.pick(&REASONS);
        self.fill(reason)
    }

    fn closer(&mut self) -> String {
        let closer = self.pick(&CLOSERS);
        self.fill(closer)
    }

    fn fill(&mut self, pattern: &str) -> String {
        let number: u32 = self.dice.random_range(13..60);
        pattern.replace("{n}", &number.to_string())
    }

    fn place(&mut self, names: &[&str]) -> u32 {
        let count = u32::try_from(names.len()).expect("the lists are short");
        self.dice.random_range(0..count)
    }

    fn pick(&mut self, words: &[&'static str]) -> &'static str {
        words[self.dice.random_range(0..words.len())]
    }
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(characters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_writes_the_same_news() {
        let (mut first, mut other) = (Newsroom::open(3), Newsroom::open(3));
        for _ in 0..5 {
            let (a, b) = (first.draft(), other.draft());
            assert_eq!((a.title, a.body), (b.title, b.body));
        }
    }

    #[test]
    fn no_blank_is_left_open() {
        let mut newsroom = Newsroom::open(3);
        for _ in 0..50 {
            let draft = newsroom.draft();
            assert!(!draft.body.contains("{n}"), "{}", draft.body);
            assert!(
                draft.title.starts_with(char::is_uppercase),
                "{}",
                draft.title
            );
        }
    }
}
