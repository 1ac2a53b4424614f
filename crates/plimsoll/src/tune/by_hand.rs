//! What a setting needs that is not changed for good here: arguments, environment and limits of services that are started
//! by the experiment, and settings that a component forgets.

use plimsoll_model::component::ComponentKind;
use plimsoll_model::experiment::{Cell, Experiment, LevelText, Setup};

/// What is to be changed by hand to get from one setting to another; each is a line for people.
pub(super) fn by_hand(experiment: &Experiment, from: &Cell, to: &Cell) -> Vec<String> {
    let change = SettingChange {
        experiment,
        from,
        to,
    };
    let setups = experiment.setups.iter();
    setups.flat_map(|setup| change.of_setup(setup)).collect()
}

struct SettingChange<'c> {
    experiment: &'c Experiment,
    from: &'c Cell,
    to: &'c Cell,
}

impl SettingChange<'_> {
    fn of_setup(&self, setup: &Setup) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(program) = setup.command.first().and_then(|word| self.text(word)) {
            lines.extend(self.words(setup, &program));
            for (name, value) in &setup.env {
                if let Some((before, after)) = self.difference(value) {
                    lines.push(format!(
                        "set {name}={after} (before: {before}) in the environment of `{program}`"
                    ));
                }
            }
            let folder = setup.folder.as_ref();
            if let Some((before, after)) = folder.and_then(|folder| self.difference(folder)) {
                lines.push(format!("start `{program}` in {after} instead of {before}"));
            }
            lines.extend(self.amounts(setup, &program));
            for file in &setup.files {
                if file
                    .lines
                    .iter()
                    .any(|line| self.difference(line).is_some())
                {
                    let to = &file.to;
                    lines.push(format!(
                        "restart `{program}`, which reads {to} when it starts"
                    ));
                }
            }
        }
        if let Some((before, after)) = setup.edge.as_ref().and_then(|edge| self.difference(edge)) {
            lines.push(format!("start the edge with {after} instead of {before}"));
        }
        let source = setup.source.as_ref();
        let revision = source.and_then(|source| self.difference(&source.revision));
        if let Some((before, after)) = revision {
            lines.push(format!("deploy revision {after} instead of {before}"));
        }
        lines.extend(self.forgotten(setup));
        lines
    }

    /// Arguments that differ. Others may have secrets, and are not shown.
    fn words(&self, setup: &Setup, program: &str) -> Vec<String> {
        let texts = |cell: &Cell| -> Vec<String> {
            let words = setup.command.iter();
            words
                .filter_map(|word| word.in_cell(&self.experiment.design, cell))
                .collect()
        };
        let (before, after) = (texts(self.from), texts(self.to));
        if before.len() != after.len() {
            return vec![format!(
                "start `{program}` with the arguments of the new setting"
            )];
        }
        let pairs = before.iter().zip(&after).enumerate();
        pairs
            .filter(|(_, (before, after))| before != after)
            .map(|(index, (before, after))| {
                let flag = index
                    .checked_sub(1)
                    .map(|flag| before_flag(&texts(self.to)[flag]));
                let flag = flag.unwrap_or_default();
                format!("start `{program}` with `{flag}{after}` instead of `{flag}{before}`")
            })
            .collect()
    }

    /// Numbers of processes and CPUs, and memory, that differ.
    fn amounts(&self, setup: &Setup, program: &str) -> Vec<String> {
        let mut lines = Vec::new();
        let processes = setup.processes.as_ref();
        let processes = processes.map(|count| (count.at(self.from), count.at(self.to)));
        if let Some((Some(before), Some(after))) = processes
            && before != after
        {
            lines.push(format!(
                "start {after} processes of `{program}` instead of {before}"
            ));
        }
        let cpus = setup.cpus.as_ref();
        let cpus = cpus.map(|cpus| (cpus.at(self.from), cpus.at(self.to)));
        if let Some((Some(before), Some(after))) = cpus
            && (before - after).abs() > f64::EPSILON
        {
            lines.push(format!("give `{program}` {after} CPUs instead of {before}"));
        }
        let memory = setup.memory.as_ref();
        let memory = memory.map(|memory| (memory.at(self.from), memory.at(self.to)));
        if let Some((Some(before), Some(after))) = memory
            && before != after
        {
            let [before, after] =
                [before, after].map(|bytes| plimsoll_report::number::bytes(*bytes));
            lines.push(format!(
                "give `{program}` {after} of memory instead of {before}"
            ));
        }
        lines
    }

    /// Settings that a component has only until it is restarted.
    fn forgotten(&self, setup: &Setup) -> Vec<String> {
        let tunables = setup.tunables.iter();
        let forgotten = tunables.filter(|value| value.kind != ComponentKind::Postgres);
        let workers = setup.workers.iter().filter_map(|signals| {
            let (before, after) = (signals.to.at(self.from)?, signals.to.at(self.to)?);
            (before != after).then(|| {
                let pid_file = &signals.pid_file;
                format!(
                    "write {after} workers into the configuration of the server of {pid_file} as well: it forgets signals when it is restarted"
                )
            })
        });
        let mut lines: Vec<String> = workers.collect();
        let settings = forgotten
            .filter_map(|value| {
                let (_, after) = self.difference(&value.to)?;
                Some(format!(
                    "write {} {after} into the configuration of {} as well: it forgets what was set when it is restarted",
                    value.setting,
                    value.kind.name()
                ))
            });
        lines.extend(settings);
        lines
    }

    fn text(&self, text: &LevelText) -> Option<String> {
        text.in_cell(&self.experiment.design, self.to)
    }

    /// A text in both settings, where it differs.
    fn difference(&self, text: &LevelText) -> Option<(String, String)> {
        let before = text.in_cell(&self.experiment.design, self.from);
        let after = text.in_cell(&self.experiment.design, self.to);
        let none = || "none".to_owned();
        (before != after).then(|| (before.unwrap_or_else(none), after.unwrap_or_else(none)))
    }
}

/// A flag before its value, with a space.
fn before_flag(word: &str) -> String {
    if word.starts_with('-') && !word.contains('=') {
        format!("{word} ")
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::experiment_of;
    use super::*;

    #[test]
    fn arguments_and_environment_are_named_without_secrets() {
        let experiment = experiment_of(
            "knobs: { workers: [2, 4], pool: [5, 20] }\n\
             measure: { url: 'http://127.0.0.1:9/', limit: 2m }\n\
             apply:\n\
             \x20 command: [bin/app, --key, hunter2, --workers, '{{ workers }}']\n\
             \x20 env: { POOL: '{{ pool }}', OTHER: x }\n\
             \x20 folder: 'srv/{{ pool }}'\n\
             \x20 processes: '{{ workers }}'\n",
        );
        let [from, to] = [0, 3].map(|index| experiment.design.cell_at(index));
        let lines = by_hand(&experiment, &from, &to);
        assert_eq!(
            lines,
            [
                "start `bin/app` with `--workers 4` instead of `--workers 2`",
                "set POOL=20 (before: 5) in the environment of `bin/app`",
                "start `bin/app` in srv/20 instead of srv/5",
                "start 4 processes of `bin/app` instead of 2",
            ]
        );
        assert!(by_hand(&experiment, &from, &from).is_empty());
    }
}
