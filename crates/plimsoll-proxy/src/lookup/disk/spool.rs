//! Writes a response to disk while it arrives: large ones are never complete in memory.

use std::sync::Arc;

use plimsoll_cache::disk::BLOCK_LEN;
use plimsoll_cache::store;

use super::index::FileId;
use super::jobs::{Described, Write};
use super::{DiskCache, DiskShared};
use crate::lookup::ResponseMetadata;

/// A response on its way to disk.
#[derive(Debug)]
pub(crate) struct Spool {
    disk: Arc<DiskShared>,
    number: u64,
    name: FileId,
    described: Option<Box<Described>>,
    block: Vec<u8>,
    len: u64,
    stage: SpoolStage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SpoolStage {
    /// Still so short that it may be written from memory.
    Short,
    Begun,
    /// The disk was too slow, or the response is too long.
    GivenUp,
}

impl Spool {
    pub(crate) fn new(
        disk: &DiskCache,
        metadata: &Arc<ResponseMetadata>,
        key: Box<[u8]>,
        tags: Box<[u64]>,
        purges: u64,
    ) -> Self {
        let inner = &disk.inner;
        Self {
            disk: Arc::clone(inner),
            number: inner.number(),
            name: inner.name(&key, metadata),
            described: Some(Box::new(Described {
                metadata: Arc::clone(metadata),
                key,
                tags,
                purges,
            })),
            block: Vec::new(),
            len: 0,
            stage: SpoolStage::Short,
        }
    }

    /// Appends a piece of the body.
    pub(crate) fn append(&mut self, mut content: &[u8]) {
        self.len += content.len() as u64;
        if self.stage == SpoolStage::GivenUp {
            return;
        }
        while !content.is_empty() {
            let room = BLOCK_LEN - self.block.len();
            let (taken, rest) = content.split_at(room.min(content.len()));
            self.block.extend_from_slice(taken);
            content = rest;
            // A full block may be the last one, which is only known at the end.
            if self.block.len() == BLOCK_LEN && !self.push_block() {
                return self.give_up();
            }
        }
        if self.len > self.disk.body_len_max() {
            self.give_up();
        }
    }

    fn push_block(&mut self) -> bool {
        if let Some(described) = self.described.take() {
            self.stage = SpoolStage::Begun;
            if !self.disk.push(Write::Begin(self.number, described)) {
                return false;
            }
        }
        let block = std::mem::take(&mut self.block);
        self.disk.push(Write::Block(self.number, block))
    }

    fn give_up(&mut self) {
        self.abandon();
        self.disk.counts.skip();
        // Its predecessor is not the newest any more.
        self.disk.forget(self.name);
    }

    fn abandon(&mut self) {
        if self.stage == SpoolStage::Begun {
            self.disk.must_push(Write::Drop(self.number));
        }
        self.stage = SpoolStage::GivenUp;
        self.block = Vec::new();
    }

    /// Whether it is on disk, or on its way.
    pub(crate) fn has_begun(&self) -> bool {
        self.stage == SpoolStage::Begun
    }

    /// The body is complete. With `begun` (the purge epoch of its request), its head goes into memory once the file is
    /// written.
    pub(crate) fn end(mut self, begun: Option<store::PurgeEpoch>) {
        if self.stage != SpoolStage::Begun {
            return;
        }
        let is_handed_on = self.block.is_empty() || self.push_block();
        if is_handed_on && self.disk.push(Write::End(self.number, begun)) {
            self.stage = SpoolStage::Short;
        } else {
            self.give_up();
        }
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.abandon();
    }
}
