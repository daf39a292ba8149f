//! What recorded processes ask for over the socket: a reel, more rings, somebody who watches.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use netreel_shared::hello::{
    HELLO_MAGIC, Hello, KIND_ATTACH, KIND_MORE, KIND_SEGMENTS, KIND_TRIPWIRE, KIND_UNMAPPED,
    KIND_WATCH, Welcome,
};
use netreel_transport::WhenFull;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::super::begun::Seen;
use super::super::descendants::descends_from_this;
use super::super::escape::has_system_calls;
use super::super::messages::{next, write_welcome};
use super::super::process::{Process, RINGS_MAX};
use super::super::tripwire::{Tripwire, Watched};
use super::super::watch::{Who, watch};
use super::super::{Report, look};
use super::{Server, Why};

impl Server<'_> {
    /// A process asks for something.
    pub fn welcome(&mut self, listener: &OwnedFd) {
        let Some((socket, pid, user, hello, fd)) = next(listener) else {
            return;
        };
        // Others may reach the socket, for programs that drop their privileges.
        if user != rustix::process::getuid() && !descends_from_this(pid) {
            return;
        }
        let (welcome, file) = match hello.kind {
            KIND_ATTACH => self.attach(pid, &hello),
            KIND_MORE => self.more(pid),
            _ => {
                self.hear_of(pid, hello, fd);
                None
            }
        }
        .unzip();
        // A reel is there: who pushes into it rings the bell.
        let bell = self.writer.page().filter(|_| hello.kind == KIND_ATTACH);
        let files = file.as_ref().map(|file| (file, bell));
        write_welcome(&socket, &welcome.unwrap_or_default(), files);
    }

    /// A process tells of something that gives it no ring.
    fn hear_of(&mut self, pid: u32, hello: Hello, fd: Option<OwnedFd>) {
        match hello.kind {
            KIND_TRIPWIRE => self.arm(pid, fd),
            KIND_UNMAPPED => self.unmapped(pid, hello.flags),
            KIND_WATCH => self.watch(pid, hello, fd),
            KIND_SEGMENTS => self.changes_segments(pid, fd),
            _ => {}
        }
    }

    fn attach(&mut self, pid: u32, hello: &Hello) -> Option<(Welcome, File)> {
        if pid == self.main {
            self.loaded = true;
        } else if !self.wanted.children {
            self.done.not_followed += 1;
            return None;
        }
        // The same process as another program.
        self.finish(pid, Why::Replaced);
        if let Some(descendants) = &mut self.descendants {
            descendants.comes(pid);
        }
        let seen = Seen {
            pid: hello.pid,
            forked: hello.flags & 1 != 0,
            one_thread: self.wanted.one_thread,
            log: self.wanted.log,
        };
        let welcome = self.new_process(pid, seen);
        if let Some(process) = self.processes.get_mut(&pid) {
            process.same_numbers = seen.pid == pid;
        }
        welcome
    }

    fn new_process(&mut self, pid: u32, seen: Seen) -> Option<(Welcome, File)> {
        let ended = pidfd_open(Pid::from_raw(pid as i32)?, PidfdFlags::empty()).ok()?;
        let options = self.wanted.options.clone();
        let told = (self.writer.clone(), self.sender.clone(), self.session);
        let program = format!("{}.{pid}", look::program(pid));
        let name = match &self.wanted.name {
            None => program,
            Some(name) if pid == self.main => name.clone(),
            Some(name) => format!("{name}.{program}"),
        };
        let whose = (pid, name, seen);
        let launched = (self.program, self.wanted.command.as_slice());
        let made = Process::new(whose, launched, ended, &self.wanted.out, options, told);
        let process = match made {
            Ok(process) => process,
            Err(error) if pid == self.main && self.done.reels.is_empty() => {
                self.refused = Some(error);
                return None;
            }
            Err(error) => {
                self.done.failed += 1;
                (self.report)(Report::Failed(error));
                return None;
            }
        };
        let (file, rings, capacity) = process.recorder().share().ok()?;
        let watched =
            self.wanted.tripwire && look::path(pid).is_none_or(|path| has_system_calls(&path));
        let welcome = Welcome {
            magic: HELLO_MAGIC,
            accepted: 1,
            rings: rings as u32,
            capacity: capacity as u32,
            identity: 0,
            drop_when_full: u32::from(self.wanted.options.when_full == WhenFull::Drop),
            tripwire: u32::from(watched),
            one_thread: u32::from(self.wanted.one_thread),
            no_log: u32::from(!self.wanted.log),
        };
        (self.report)(Report::Started {
            name: process.name.clone(),
            reel: process.path.clone(),
        });
        self.processes.insert(pid, process);
        Some((welcome, file))
    }

    fn more(&mut self, pid: u32) -> Option<(Welcome, File)> {
        let process = self.processes.get(&pid)?;
        let added = process.recorder().add_ring().and_then(|index| {
            let (file, _, capacity) = process.recorder().share()?;
            Ok((index, file, capacity))
        });
        let (index, file, capacity) = match added {
            Ok(added) => added,
            Err(error) => {
                self.no_ring(pid, &error);
                return None;
            }
        };
        let welcome = Welcome {
            magic: HELLO_MAGIC,
            accepted: 1,
            rings: index as u32,
            capacity: capacity as u32,
            ..Welcome::default()
        };
        Some((welcome, file))
    }

    /// A thread has no room to push into. Said once, however many threads there are.
    fn no_ring(&mut self, pid: u32, error: &io::Error) {
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        if std::mem::replace(&mut process.ringless, true) {
            return;
        }
        let sentence = match error.kind() {
            io::ErrorKind::QuotaExceeded if error.raw_os_error().is_none() => format!(
                "what further threads do, because {} are recorded at a time, and no more",
                RINGS_MAX - 2
            ),
            _ => format!(
                "what a thread does, because there is no room for its buffer beside the reel: \
                 {error}. Make room there, or record with smaller buffers: --buffer 256k"
            ),
        };
        self.own_gap(pid, &sentence);
    }

    /// It has the ring file and cannot map it, or has no room for what each thread remembers.
    fn unmapped(&mut self, pid: u32, code: u32) {
        if !self.processes.contains_key(&pid) {
            return;
        }
        let error = io::Error::from_raw_os_error(code as i32);
        self.own_gap(
            pid,
            &format!(
                "nothing that it does, because its buffers have no room in its memory: {error}. \
                 Raise its limit of address space (ulimit -v), or record with smaller buffers: --buffer 256k"
            ),
        );
    }

    /// Process `pid` has changed how the kernel cuts or joins a socket's packets. Whoever else has
    /// the socket goes by how it was before.
    fn changes_segments(&mut self, pid: u32, socket: Option<OwnedFd>) {
        let inode = socket.and_then(|socket| look::socket(std::process::id(), socket.as_raw_fd()));
        let Some(inode) = inode else { return };
        let others = self.processes.values_mut().filter(|other| {
            other.pid != pid && !other.segments_told && look::sockets(other.pid).contains(&inode)
        });
        let told = others.map(|other| {
            other.segments_told = true;
            (other.pid, other.name.clone())
        });
        for (other, name) in told.collect::<Vec<_>>() {
            self.own_gap(
                other,
                &format!(
                    "process {pid} changes how the kernel cuts or joins packets (UDP_SEGMENT, UDP_GRO) on a socket that both have; what {name} sends or receives there may be recorded as other packets than it was"
                ),
            );
        }
    }

    /// A process becomes a program that no library can be loaded into, or a thread of it starts one. The one
    /// that was asked for is this process's own child, whose end is waited for elsewhere.
    fn watch(&mut self, pid: u32, hello: Hello, program: Option<OwnedFd>) {
        let is_wanted = self.wanted.tripwire && self.wanted.children;
        let telling = self.sender.clone();
        let Some(program) = program.filter(|_| is_wanted) else {
            return;
        };
        match hello.flags {
            0 => {
                if pid != self.main && watch(Who::Process(pid), &program, telling) {
                    self.watched.insert(pid, Watched::default())
                } else {
                    self.watched.remove(&pid)
                }
            }
            // A thread's number is the same here where that of its process is.
            thread if hello.pid == pid => {
                watch(Who::ChildOf(thread), &program, telling);
                None
            }
            _ => None,
        };
    }

    fn arm(&mut self, pid: u32, listener: Option<OwnedFd>) {
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        match listener {
            Some(listener) => process.tripwire = Some(Tripwire::new(listener)),
            None => self.own_gap(
                pid,
                "it is recorded, but not watched: it holds instructions that may enter the kernel past the recorder, and the kernel refuses to watch them (another program above it is watched, or a sandbox forbids it)",
            ),
        }
    }
}
