//! Standard input and output as one stream with time-outs. `ssh` gives pipes or sockets.

use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::stdio::{stdin, stdout};

use super::SILENCE_MAX;
use super::transport::{TIME_OUT_MIN, Transport};

/// Standard input and output.
#[derive(Debug, Default)]
pub(super) struct Stdio {
    time_out: Duration,
}

impl Transport for Stdio {
    fn set_time_out(&mut self, time_out: Duration) -> io::Result<()> {
        self.time_out = time_out.max(TIME_OUT_MIN);
        Ok(())
    }
}

impl Read for Stdio {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        wait(stdin(), PollFlags::IN, self.time_out)?;
        Ok(rustix::io::read(stdin(), buffer)?)
    }
}

impl Write for Stdio {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        wait(stdout(), PollFlags::OUT, SILENCE_MAX)?;
        Ok(rustix::io::write(stdout(), buffer)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn wait(stream: BorrowedFd<'_>, event: PollFlags, time_out: Duration) -> io::Result<()> {
    let time_out = Timespec {
        tv_sec: time_out.as_secs().cast_signed(),
        tv_nsec: time_out.subsec_nanos().into(),
    };
    match poll(&mut [PollFd::new(&stream, event)], Some(&time_out)) {
        Ok(0) => Err(io::ErrorKind::WouldBlock.into()),
        Ok(_) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
