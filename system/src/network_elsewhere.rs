//! A network of programs' own: Linux alone has it.

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// There is none here.
#[derive(Debug)]
pub struct Network(Infallible);

impl Network {
    /// There is none here.
    ///
    /// # Errors
    /// Always.
    pub fn new(_: Ipv4Addr) -> io::Result<Network> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The address of its interface.
    pub fn address(&self) -> Ipv4Addr {
        match self.0 {}
    }

    /// The process starts in it.
    pub fn starts_in<'a>(&self, _: &'a mut Command) -> io::Result<&'a mut Command> {
        match self.0 {}
    }

    /// Does something in it.
    pub fn inside<R: Send>(&self, _: impl FnOnce() -> R + Send) -> io::Result<R> {
        match self.0 {}
    }

    /// The next packet.
    pub fn take(&self, _: &mut [u8]) -> io::Result<Option<usize>> {
        match self.0 {}
    }

    /// Has a packet arrive.
    pub fn give(&self, _: &[u8]) -> io::Result<()> {
        match self.0 {}
    }
}

/// There is nothing to wait for.
pub fn wait(_: &[Arc<Network>], _: Duration) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
