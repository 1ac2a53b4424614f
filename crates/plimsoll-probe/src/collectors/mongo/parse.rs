//! MongoDB's wire protocol: messages (`OP_MSG`) that hold one document in BSON.

use std::collections::BTreeMap;

/// Bytes of a message before its document: length, two numbers, operation, flags, kind of section.
const HEAD_LEN: usize = 21;
const OP_MSG: u32 = 2013;
/// Documents in documents.
const DEPTH_MAX: usize = 8;
/// Values of a message.
const VALUES_MAX: usize = 8192;

/// A value that is used; others are skipped.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BsonValue {
    /// A number, a moment in milliseconds, or 1 for true.
    Number(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// Values by name; those of documents in it behind a point, `globalLock.currentQueue.total`.
pub(crate) type Document = BTreeMap<String, BsonValue>;

/// A value to send.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BsonArgument<'a> {
    /// A number.
    Number(i32),
    /// A text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
}

/// A command message: its name with its first argument.
pub(crate) fn command(id: u32, words: &[(&str, BsonArgument<'_>)]) -> Vec<u8> {
    let mut values = Vec::new();
    for (name, argument) in words {
        let kind = match argument {
            BsonArgument::Number(_) => 0x10,
            BsonArgument::Text(_) => 0x02,
            BsonArgument::Bytes(_) => 0x05,
        };
        values.push(kind);
        values.extend(name.bytes().chain([0]));
        match argument {
            BsonArgument::Number(number) => values.extend(number.to_le_bytes()),
            BsonArgument::Text(text) => {
                values.extend(word(text.len() + 1));
                values.extend(text.bytes().chain([0]));
            }
            BsonArgument::Bytes(bytes) => {
                values.extend(word(bytes.len()));
                values.push(0);
                values.extend(*bytes);
            }
        }
    }
    values.push(0);
    let document_len = values.len() + 4;
    let mut message = Vec::with_capacity(HEAD_LEN + document_len);
    message.extend(word(HEAD_LEN + document_len));
    for head in [id, 0, OP_MSG, 0] {
        message.extend(head.to_le_bytes());
    }
    message.push(0);
    message.extend(word(document_len));
    message.extend(values);
    message
}

fn word(len: usize) -> [u8; 4] {
    u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes()
}

/// The length of a message from its first bytes; `None` while there are too few.
pub(crate) fn message_len(bytes: &[u8]) -> Option<usize> {
    number_at(bytes, 0)
}

/// The document of a complete message; `None` when it holds none.
pub(crate) fn answer(message: &[u8]) -> Option<Document> {
    let is_known = number_at(message, 12) == usize::try_from(OP_MSG).ok();
    let body = message
        .get(HEAD_LEN..)
        .filter(|_| is_known && message[20] == 0)?;
    let mut read = Document::new();
    document(body, "", 0, &mut read)?;
    Some(read)
}

/// Parses a document, as far as possible; `None` when it is invalid.
fn document(bytes: &[u8], name: &str, depth: usize, read: &mut Document) -> Option<()> {
    let len = number_at(bytes, 0)?;
    let mut rest = bytes.get(4..len)?;
    loop {
        let (&kind, after) = rest.split_first()?;
        if kind == 0 || read.len() >= VALUES_MAX || depth >= DEPTH_MAX {
            return Some(());
        }
        let end = after.iter().position(|&byte| byte == 0)?;
        let own = String::from_utf8_lossy(&after[..end]);
        let whole = if name.is_empty() {
            own.into_owned()
        } else {
            format!("{name}.{own}")
        };
        let value = after.get(end + 1..)?;
        let len = len_of(kind, value)?;
        let own = value.get(..len)?;
        match kind {
            0x03 | 0x04 => document(own, &whole, depth + 1, read)?,
            _ => read.extend(plain(kind, own).map(|value| (whole, value))),
        }
        rest = value.get(len..)?;
    }
}

/// Length of a value of a type; `None` for an unknown type.
fn len_of(kind: u8, value: &[u8]) -> Option<usize> {
    match kind {
        0x01 | 0x09 | 0x11 | 0x12 => Some(8),
        0x06 | 0x0a | 0x7f | 0xff => Some(0),
        0x07 => Some(12),
        0x08 => Some(1),
        0x10 => Some(4),
        0x13 => Some(16),
        0x02 | 0x0d | 0x0e => number_at(value, 0)?.checked_add(4),
        0x03 | 0x04 | 0x0f => number_at(value, 0),
        0x05 => number_at(value, 0)?.checked_add(5),
        0x0b => {
            let mut ends = value.iter().enumerate().filter(|(_, byte)| **byte == 0);
            Some(ends.nth(1)?.0 + 1)
        }
        _ => None,
    }
}

fn plain(kind: u8, own: &[u8]) -> Option<BsonValue> {
    Some(match kind {
        0x01 => BsonValue::Number(f64::from_le_bytes(*own.first_chunk()?)).finite()?,
        0x09 | 0x12 => BsonValue::Number(i64::from_le_bytes(*own.first_chunk()?) as f64),
        0x10 => BsonValue::Number(f64::from(i32::from_le_bytes(*own.first_chunk()?))),
        0x08 => BsonValue::Number(f64::from(*own.first()?)),
        0x02 => {
            let text = own.get(4..own.len().checked_sub(1)?)?;
            BsonValue::Text(String::from_utf8_lossy(text).into_owned())
        }
        0x05 => BsonValue::Bytes(own.get(5..)?.to_vec()),
        _ => return None,
    })
}

impl BsonValue {
    fn finite(self) -> Option<Self> {
        match self {
            Self::Number(number) if !number.is_finite() => None,
            value => Some(value),
        }
    }
}

/// A number of four bytes that is not negative.
fn number_at(bytes: &[u8], at: usize) -> Option<usize> {
    let word = *bytes.get(at..)?.first_chunk()?;
    usize::try_from(i32::from_le_bytes(word)).ok()
}

/// The number of a name.
pub(crate) fn number(document: &Document, name: &str) -> Option<f64> {
    match document.get(name)? {
        BsonValue::Number(number) => Some(*number),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A document of numbers, with documents below names that hold a point.
    pub(crate) fn bson(values: &[(&str, f64)]) -> Vec<u8> {
        let mut body = Vec::new();
        let mut inner: BTreeMap<&str, Vec<(&str, f64)>> = BTreeMap::new();
        for (name, value) in values {
            if let Some((outer, name)) = name.split_once('.') {
                inner.entry(outer).or_default().push((name, *value));
            } else {
                body.push(0x01);
                body.extend(name.bytes().chain([0]));
                body.extend(value.to_le_bytes());
            }
        }
        for (name, values) in inner {
            body.push(0x03);
            body.extend(name.bytes().chain([0]));
            body.extend(bson(&values));
        }
        body.push(0);
        let mut whole = word(body.len() + 4).to_vec();
        whole.extend(body);
        whole
    }

    /// A message that holds it.
    pub(crate) fn message(document: &[u8]) -> Vec<u8> {
        let mut message = word(HEAD_LEN + document.len()).to_vec();
        for head in [7, 1, OP_MSG, 0] {
            message.extend(head.to_le_bytes());
        }
        message.push(0);
        message.extend(document);
        message
    }

    #[test]
    fn what_is_said_is_understood() {
        let message = command(
            1,
            &[
                ("saslStart", BsonArgument::Number(1)),
                ("mechanism", BsonArgument::Text("SCRAM-SHA-256")),
                ("payload", BsonArgument::Bytes(b"n,,")),
                ("$db", BsonArgument::Text("admin")),
            ],
        );
        assert_eq!(message_len(&message), Some(message.len()));
        let read = answer(&message).unwrap();
        assert_eq!(number(&read, "saslStart"), Some(1.0));
        assert_eq!(
            read["mechanism"],
            BsonValue::Text("SCRAM-SHA-256".to_owned())
        );
        assert_eq!(read["payload"], BsonValue::Bytes(b"n,,".to_vec()));
        assert_eq!(read.len(), 4);
    }

    #[test]
    fn documents_in_documents_are_read() {
        let values = [("ok", 1.0), ("globalLock.currentQueue.total", 7.0)];
        let read = answer(&message(&bson(&values))).unwrap();
        assert_eq!(number(&read, "globalLock.currentQueue.total"), Some(7.0));
        assert_eq!(number(&read, "globalLock"), None);
        // Kinds that are passed over: nothing, a regular expression.
        let mut odd = b"\x0aa\0\x0bb\0^x\0i\0\x10c\0\x05\0\0\0\0".to_vec();
        let mut whole = word(odd.len() + 4).to_vec();
        whole.append(&mut odd);
        let read = answer(&message(&whole)).unwrap();
        assert_eq!(
            read.into_iter().collect::<Vec<_>>(),
            [("c".to_owned(), BsonValue::Number(5.0))]
        );
        assert_eq!(answer(b"HTTP/1.0 400 Bad Request\r\n"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(
            at in 0_usize..120, noise in proptest::collection::vec(any::<u8>(), 1..12), cut in 0_usize..200
        ) {
            let mut bytes = message(&bson(&[("ok", 1.0), ("a.b.c.d.e.f.g.h.i.j", 2.0), ("a.b.k", 3.0)]));
            for (byte, noise) in bytes.iter_mut().skip(at).zip(noise) {
                *byte = noise;
            }
            bytes.truncate(cut);
            let _ = answer(&bytes);
        }
    }
}
