//! How fast a log is read: `cargo run --release -p plimsoll-logs --example day -- FILE`.
//!
//! Prints the megabytes per second of one core for reading lines alone, with their format, and with the whole day.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, BufRead as _, BufReader};

use plimsoll_logs::day::{Day, DayOptions};
use plimsoll_logs::{LogReader, SAMPLE_LINES_MAX, detect};

#[expect(clippy::print_stdout, reason = "it is a program that prints")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("give a log")?;
    let mut first: Vec<Vec<u8>> = Vec::new();
    for line in open(&path)?.split(b'\n').take(SAMPLE_LINES_MAX) {
        first.push(line?);
    }
    let sample: Vec<&[u8]> = first.iter().map(Vec::as_slice).collect();
    let format = detect(&sample, None)?.format;
    let megabytes = std::fs::metadata(&path)?.len() as f64 / 1e6;

    let mut count = 0_u64;
    let seconds = timed(&path, |line| count += black_box(line).len() as u64)?;
    println!("lines alone  {:7.0} MB/s", megabytes / seconds);

    let mut reader = LogReader::new(format.clone());
    let seconds = timed(&path, |line| {
        let _ = black_box(reader.read(line));
    })?;
    println!("with format  {:7.0} MB/s", megabytes / seconds);

    let (mut unwrapper, mut reader) = (format.unwrapper(), LogReader::new(format));
    let mut day = Day::new(DayOptions {
        cache_sizes: vec![16 << 20, 64 << 20, 256 << 20, 1 << 30],
        ..DayOptions::default()
    })?;
    let seconds = timed(&path, |line| {
        if let Some(line) = unwrapper.line(line)
            && let Ok(Some(entry)) = reader.read(line)
        {
            day.take(&entry);
        }
    })?;
    let requests = day.requests();
    println!("the day      {:7.0} MB/s", megabytes / seconds);
    let start = now()?;
    let summary = day.finish().ok_or("no request")?;
    println!(
        "summed up in {:.2} s: {requests} requests, {} URLs",
        seconds_since(start)?,
        summary.popularity.distinct_urls
    );
    Ok(())
}

fn open(path: &str) -> io::Result<BufReader<File>> {
    Ok(BufReader::with_capacity(256 << 10, File::open(path)?))
}

/// Nanoseconds that this thread has had a core, so that other programs on the machine do not count.
fn now() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let first = text.split(' ').next().and_then(|text| text.parse().ok());
    first.ok_or_else(|| io::Error::other("no CPU time"))
}

fn seconds_since(start: u64) -> io::Result<f64> {
    Ok((now()? - start) as f64 / 1e9)
}

/// Seconds to read a file line by line.
fn timed(path: &str, mut take: impl FnMut(&[u8])) -> io::Result<f64> {
    let start = now()?;
    let mut reader = open(path)?;
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return seconds_since(start);
        }
        take(&line);
    }
}
