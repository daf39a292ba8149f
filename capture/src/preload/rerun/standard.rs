//! The first three descriptors of a program that is started again: each is of the kind that it was, and
//! what the program prints there goes to the error output.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use netreel_system::ready::wait;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::MemfdFlags;

use super::super::again::Standard;

/// The program's ends, and ours.
pub(super) struct Standards {
    /// What the program gets under the numbers 0, 1 and 2; `None`: that number is not open.
    pub given: [Option<OwnedFd>; 3],
    /// Which of them is the terminal by which the program is steered.
    pub terminal: Option<RawFd>,
    outlets: Vec<Outlet>,
    /// What is open so that nothing ends.
    open: Vec<OwnedFd>,
}

/// An end at which comes out what the program prints.
enum Outlet {
    /// A pipe, a socket.
    Stream(File),
    /// A terminal, which ends its lines with two bytes.
    Terminal(File),
    /// A file, and how much of it was told.
    File(File, u64),
}

impl Standards {
    pub fn open(wanted: &[Option<Standard>; 3]) -> io::Result<Standards> {
        let mut made = Standards {
            given: [None, None, None],
            terminal: None,
            outlets: Vec::new(),
            open: Vec::new(),
        };
        // What two of them lead to is one thing, and has one state.
        let mut known: BTreeMap<String, RawFd> = BTreeMap::new();
        for (fd, wanted) in wanted.iter().enumerate() {
            let Some(wanted) = wanted else { continue };
            let name = format!("{wanted:?}");
            let end = match (wanted, known.get(&name)) {
                // A pipe has two ends.
                (Standard::Pipe(_), _) if fd == 0 => made.opened(fd, wanted)?,
                (_, Some(first)) => again(*first)?,
                (_, None) => made.opened(fd, wanted)?,
            };
            if fd > 0 || !matches!(wanted, Standard::Pipe(_)) {
                known.insert(name, end.as_raw_fd());
            }
            if matches!(wanted, Standard::Terminal(_)) {
                made.terminal.get_or_insert(fd as RawFd);
            }
            made.given[fd] = Some(end);
        }
        Ok(made)
    }

    fn opened(&mut self, fd: usize, wanted: &Standard) -> io::Result<OwnedFd> {
        Ok(match wanted {
            Standard::Nothing(flags) => opened_with(Path::new("/dev/null"), *flags)?.into(),
            Standard::Read { path, position } => {
                let mut file = match path {
                    Some(path) => File::open(path)?,
                    None => in_memory()?,
                };
                file.seek(SeekFrom::Start(*position))?;
                file.into()
            }
            Standard::Written(written) => {
                let file = in_memory()?;
                file.set_len(written.position)?;
                let own = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
                let mut end = opened_with(&own, written.flags)?;
                end.seek(SeekFrom::Start(written.position))?;
                self.outlets.push(Outlet::File(file, written.position));
                end.into()
            }
            Standard::Pipe(_) => {
                let (reader, writer) = io::pipe()?;
                match fd {
                    0 => {
                        self.open.push(writer.into());
                        reader.into()
                    }
                    _ => {
                        self.comes_out(OwnedFd::from(reader), Outlet::Stream)?;
                        writer.into()
                    }
                }
            }
            Standard::Socket(_) => {
                let (own, end) = std::os::unix::net::UnixStream::pair()?;
                self.comes_out(OwnedFd::from(own), Outlet::Stream)?;
                end.into()
            }
            Standard::Terminal(terminal) => {
                let (own, end) = pseudo_terminal(terminal.size)?;
                self.comes_out(own, Outlet::Terminal)?;
                end
            }
        })
    }

    fn comes_out(&mut self, own: OwnedFd, outlet: fn(File) -> Outlet) -> io::Result<()> {
        rustix::io::ioctl_fionbio(&own, true)?;
        self.outlets.push(outlet(File::from(own)));
        Ok(())
    }

    /// Hands on what comes out of them, once the program has its ends.
    pub fn relay(self) -> io::Result<Relay> {
        drop(self.given);
        let (over, until) = io::pipe()?;
        let (mut outlets, over) = (self.outlets, OwnedFd::from(over));
        let thread = std::thread::Builder::new()
            .name("netreel-printed".to_owned())
            .spawn(move || {
                while waits(&outlets, &over) {
                    outlets.retain_mut(Outlet::hands_on);
                }
                outlets.iter_mut().for_each(|it| {
                    it.hands_on();
                });
            })?;
        Ok(Relay {
            until: Some(OwnedFd::from(until)),
            _open: self.open,
            thread: Some(thread),
        })
    }
}

/// Hands on what the program prints, until it is dropped: then all that came out has been.
pub(super) struct Relay {
    until: Option<OwnedFd>,
    _open: Vec<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.until = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A file says nothing when it grows: it is looked at so often.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Waits until something comes out. `false`: it is over.
fn waits(outlets: &[Outlet], over: &OwnedFd) -> bool {
    let mut fds = vec![PollFd::new(over, PollFlags::IN)];
    fds.extend(outlets.iter().filter_map(|it| match it {
        Outlet::Stream(own) | Outlet::Terminal(own) => Some(PollFd::new(own, PollFlags::IN)),
        Outlet::File(..) => None,
    }));
    let has_files = fds.len() <= outlets.len();
    let _ = wait(&mut fds, has_files.then_some(LOOK_EVERY));
    fds[0].revents().is_empty()
}

impl Outlet {
    /// Hands on what is there. `false`: nothing comes any more.
    fn hands_on(&mut self) -> bool {
        let mut room = [0; 16 << 10];
        loop {
            let read = match self {
                Outlet::Stream(own) | Outlet::Terminal(own) => own.read(&mut room),
                Outlet::File(file, told) => file.read_at(&mut room, *told),
            };
            let came = match read {
                Ok(0) => return matches!(self, Outlet::File(..)),
                Ok(length) => room.get(..length).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
            };
            match self {
                Outlet::Stream(_) => print(came),
                Outlet::Terminal(_) => {
                    let text = came.split_inclusive(|byte| *byte == b'\n');
                    text.for_each(|line| match line.strip_suffix(b"\r\n") {
                        Some(line) => [line, b"\n"].into_iter().for_each(print),
                        None => print(line),
                    });
                }
                Outlet::File(_, told) => {
                    *told += came.len() as u64;
                    print(came);
                }
            }
        }
    }
}

/// Whoever does not listen is no reason to let the program wait.
fn print(bytes: &[u8]) {
    let _ = io::stderr().write_all(bytes);
}

fn in_memory() -> io::Result<File> {
    let fd = rustix::fs::memfd_create("netreel-printed", MemfdFlags::CLOEXEC)?;
    Ok(File::from(fd))
}

/// Opens it as it was opened with these flags.
fn opened_with(path: &Path, flags: i32) -> io::Result<File> {
    let (how, kept) = (flags & libc::O_ACCMODE, libc::O_APPEND | libc::O_NONBLOCK);
    File::options()
        .read(how != libc::O_WRONLY)
        .write(how != libc::O_RDONLY)
        .custom_flags(flags & kept)
        .open(path)
}

fn again(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: one of ours, which stays open meanwhile.
    unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned()
}

/// Our end, and the program's.
fn pseudo_terminal((rows, columns): (u16, u16)) -> io::Result<(OwnedFd, OwnedFd)> {
    let (mut own, mut end) = (-1, -1);
    let size = libc::winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let none = std::ptr::null_mut();
    // SAFETY: two places for numbers; the rest is not asked for, or is there.
    let made = unsafe {
        libc::openpty(
            &mut own,
            &mut end,
            none,
            none.cast(),
            (&raw const size).cast_mut(),
        )
    };
    if made != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptors that were just made.
    Ok(unsafe { (OwnedFd::from_raw_fd(own), OwnedFd::from_raw_fd(end)) })
}
