//! Channels named by users get numbers on first use, which differ between processes.

use std::collections::BTreeMap;

use plimsoll_model::websocket::WebSocketWindow;

use crate::channels::Channels;

/// This process's number of each channel, by that of a worker process.
#[derive(Debug, Default)]
pub(crate) struct Numbers(BTreeMap<u32, u32>);

impl Numbers {
    /// Renumbers the channels of a worker's second. A name arrives with the first second in
    /// which its number is used.
    pub(crate) fn translate(&mut self, window: &mut WebSocketWindow, channels: &Channels) {
        let names = std::mem::take(&mut window.channel_names);
        for (theirs, name) in names {
            let ours = channels.number(&name);
            self.0.insert(theirs, ours);
            window.channel_names.insert(ours, name);
        }
        for (theirs, broadcasts) in std::mem::take(&mut window.channels) {
            let ours = self.0.get(&theirs).copied().unwrap_or(theirs);
            window.channels.entry(ours).or_default().merge(&broadcasts);
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::broadcast::BroadcastWindow;

    use super::*;

    fn second(names: &[(u32, &str)], counts: &[(u32, u64)]) -> WebSocketWindow {
        let names = names.iter().map(|&(id, name)| (id, name.to_owned()));
        let counts = counts.iter().map(|&(id, duplicates)| {
            let broadcasts = BroadcastWindow {
                duplicates,
                ..BroadcastWindow::default()
            };
            (id, broadcasts)
        });
        WebSocketWindow {
            channel_names: names.collect(),
            channels: counts.collect(),
            ..WebSocketWindow::default()
        }
    }

    #[test]
    fn a_channel_has_this_process_s_number_wherever_it_was_heard() {
        let channels = Channels::default();
        let (own_a, own_b) = (channels.number("a"), channels.number("b"));
        let mut numbers = Numbers::default();
        let mut first = second(&[(0, "b"), (1, "c")], &[(0, 2), (1, 3)]);
        numbers.translate(&mut first, &channels);
        let own_c = channels.number("c");
        let counted = |window: &WebSocketWindow, id| {
            window.channels.get(&id).map(|channel| channel.duplicates)
        };
        assert_eq!(counted(&first, own_b), Some(2));
        assert_eq!(counted(&first, own_c), Some(3));
        assert_eq!(first.channel_names[&own_c], "c");
        // Names arrive once; their mapping is stored.
        let mut next = second(&[(2, "a")], &[(0, 5), (2, 7)]);
        numbers.translate(&mut next, &channels);
        assert_eq!(counted(&next, own_b), Some(5));
        assert_eq!(counted(&next, own_a), Some(7));
        assert_eq!(next.channel_names[&own_a], "a");
    }
}
