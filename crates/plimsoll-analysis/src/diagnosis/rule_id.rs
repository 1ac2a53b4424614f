//! The rules by name.

use std::fmt;
use std::str::FromStr;

use plimsoll_model::finding::Finding;

/// What the tests of a rule try it on. A test of this crate fails where none does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriedOn {
    /// A real program that is brought to the limit.
    RealProgram,
    /// Series that were made up or recorded.
    Series,
}

/// A text that names no rule of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownRule;

/// From the id of each rule, and its name where that is no identifier.
macro_rules! rule_ids {
    (@name $id:ident) => {
        stringify!($id)
    };
    (@name $id:ident $name:literal) => {
        $name
    };
    ($($id:ident $(= $name:literal)?,)*) => {
        /// Id of a rule. Findings carry it as text, since a run log may come from a version with other rules.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the definition of each rule says what it is about")]
        pub enum RuleId {
            $($id,)*
        }

        impl RuleId {
            /// Every rule, in the order of the reference.
            pub const ALL: &[Self] = &[$(Self::$id,)*];

            /// The id in reports and run logs, such as `N1`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$id => rule_ids!(@name $id $($name)?),)*
                }
            }
        }
    };
}

// The rules of the method, and `V1`, `J11`, `R7`, `S9` to `S12` and `NPlus1`, which are ours. `rules` has their definitions.
rule_ids! {
    G1, G2, G3,
    N1, N2, N3, N4, N5, N6, N7, N8, N9, N10, N11, N12, N13,
    C1, C2, C3, C4, C5, C6, C7,
    M1, M2, M3, M4, M5,
    D1, D2, D3, D4,
    F1, F2,
    X1, X2, X3, X4, X5, X6, X7, X8,
    H1, H2, H3, H4, H5, H6, H7, H8, H9, H10, H11,
    A0,
    V1,
    J1, J2, J3, J4, J5, J6, J7, J8, J9, J10, J11,
    R1, R2, R3, R4, R5, R6, R7,
    P1, P2, P3, P4, P5, P6, P7, P8, P9, P10, P11, P12,
    Q1, Q2, Q3, Q4, Q5, Q6, Q7, Q8, Q9,
    K1, K2, K3, K4, K5, K6, K7,
    S1, S2, S3, S4, S5, S6, S7, S8, S9, S10, S11, S12,
    NPlus1 = "N+1",
}

impl RuleId {
    /// The rule of a finding; `None` where this version has no such rule.
    pub fn of(finding: &Finding) -> Option<Self> {
        finding.rule.parse().ok()
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for RuleId {
    type Err = UnknownRule;

    fn from_str(text: &str) -> Result<Self, UnknownRule> {
        let mut all = Self::ALL.iter().copied();
        all.find(|rule| rule.as_str() == text).ok_or(UnknownRule)
    }
}

impl fmt::Display for UnknownRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this version has no such rule")
    }
}

impl std::error::Error for UnknownRule {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written() {
        for &rule in RuleId::ALL {
            assert_eq!(rule.to_string().parse(), Ok(rule));
        }
        assert_eq!("N+1".parse(), Ok(RuleId::NPlus1));
        assert_eq!("N12".parse(), Ok(RuleId::N12));
        assert_eq!("Z9".parse::<RuleId>(), Err(UnknownRule));
    }
}
