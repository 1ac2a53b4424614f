//! Policies to compare with, in the world of another one.

use plimsoll_config::scale::{
    ConcurrencyPolicy, Saturated, ScalePolicy, TargetPolicy, ThresholdPolicy,
};

/// Names of the policies to compare with.
///
/// `hpa` is the Horizontal Pod Autoscaler of Kubernetes at 70 % of CPU, `kpa` the autoscaler of Knative at its default of
/// 70 % of the requests in flight; `study-1`, `study-2` and `study-4` add so many replicas above 75 % of CPU in two
/// minutes and remove below 35 % (the newspaper); `consult` is 75 % and 25 %.
pub const PRESETS: [&str; 6] = ["hpa", "kpa", "study-1", "study-2", "study-4", "consult"];

/// A policy to compare with: the bounds, the replica, the price and the world of `like`, with other rules. `None` for an
/// unknown name.
pub fn preset(name: &str, like: &ScalePolicy) -> Option<ScalePolicy> {
    let bare = ScalePolicy {
        imitates: true,
        price: like.price.clone(),
        world: like.world.clone(),
        ..ScalePolicy::without_rule(name, like.replica.clone(), (like.min, like.max))
    };
    let steps = |add: u32, remove: u32, below: f64| ScalePolicy {
        threshold: vec![ThresholdPolicy {
            add,
            remove,
            below,
            ..ThresholdPolicy::default()
        }],
        ..bare.clone()
    };
    Some(match name {
        "hpa" => ScalePolicy {
            target: vec![TargetPolicy {
                saturated: Saturated::Accept,
                ..TargetPolicy::default()
            }],
            ..bare
        },
        "kpa" => ScalePolicy {
            concurrency: Some(ConcurrencyPolicy::default()),
            ..bare
        },
        "study-1" => steps(1, 1, 0.35),
        "study-2" => steps(2, 1, 0.35),
        "study-4" => steps(4, 2, 0.35),
        "consult" => steps(1, 1, 0.25),
        _ => return None,
    })
}
