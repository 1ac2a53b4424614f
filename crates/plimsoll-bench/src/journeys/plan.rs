//! The plan file of the journey, and its variants.

use anyhow::{Result, ensure};

const USERS: &str = "users: 500";
const THINK: &str = "  - think: 50ms..150ms\n";

/// A variant of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    /// As written.
    Thinking,
    /// The same steps without a pause, for the comparison with a closed loop.
    Unthinking,
    /// Ten thousand users, who think long enough to ask for as much as the 500.
    ManyUsers,
}

/// Makes the plan of a variant from the one that is written.
pub(super) fn plan(written: &str, variant: Variant) -> Result<String> {
    for fragment in [USERS, THINK] {
        let count = written.matches(fragment).count();
        ensure!(
            count == 1,
            "the plan of the journey has {count} times `{}`, exactly one is valid",
            fragment.trim()
        );
    }
    Ok(match variant {
        Variant::Thinking => written.to_owned(),
        Variant::Unthinking => written.replace(THINK, ""),
        Variant::ManyUsers => written
            .replace(THINK, "  - think: 1s..3s\n")
            .replace(USERS, "users: 10000, within: 5s"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str = include_str!("../../../../bench/journeys/journey.yaml");

    #[test]
    fn the_plan_has_its_variants() {
        assert_eq!(plan(WRITTEN, Variant::Thinking).unwrap(), WRITTEN);
        let unthinking = plan(WRITTEN, Variant::Unthinking).unwrap();
        assert!(!unthinking.contains("- think:"), "{unthinking}");
        let many_users = plan(WRITTEN, Variant::ManyUsers).unwrap();
        assert!(many_users.contains("\n  - think: 1s..3s\n"), "{many_users}");
        assert!(
            many_users.contains("\nload: { users: 10000, within: 5s, hold: 10m }\n"),
            "{many_users}"
        );
    }

    #[test]
    fn a_plan_without_its_users_is_refused() {
        let error = plan(&WRITTEN.replace("500", "50"), Variant::ManyUsers).unwrap_err();
        assert!(
            error.to_string().contains("0 times `users: 500`"),
            "{error}"
        );
    }
}
