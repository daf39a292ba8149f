//! Noticing system calls that go past the hooks.
//!
//! A seccomp filter lets everything through but asks the recorder, who says yes, before a network
//! or random call from an instruction inside the program's own executable, where no hook stands
//! in between, and before `io_uring_setup` from anywhere. Reads, writes and closes from there are
//! asked about as well; only the recorder can tell whether they concern a socket.

use crate::filters::{ALLOW, Filter, Instruction};
use crate::sys::{self, PT_LOAD, ProgramHeader, nr};

unsafe extern "C" {
    fn getauxval(kind: u64) -> u64;
}

const AT_PHDR: u64 = 3;
const AT_PHNUM: u64 = 5;
const PT_PHDR: u32 = 6;
const PF_X: u32 = 1;

const LOAD: u16 = 0x20;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_ABOVE: u16 = 0x25;
const JUMP_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;
const USER_NOTIFICATION: u32 = 0x7fc0_0000;

const PR_SET_NO_NEW_PRIVS: usize = 38;
const SET_MODE_FILTER: usize = 1;
const NEW_LISTENER: usize = 8;

const WATCHED: [usize; 13] = [
    nr::SOCKET,
    nr::SENDTO,
    nr::RECVFROM,
    nr::SENDMSG,
    nr::RECVMSG,
    nr::SENDMMSG,
    nr::RECVMMSG,
    nr::GETRANDOM,
    nr::READ,
    nr::WRITE,
    nr::READV,
    nr::WRITEV,
    nr::CLOSE,
];

const fn step(code: u16, yes: u8, no: u8, value: u32) -> Instruction {
    Instruction {
        code,
        yes,
        no,
        value,
    }
}

/// Sets the tripwire for this thread and all that come. The descriptor of its listener; `None`: it is not
/// set.
pub fn set() -> Option<i32> {
    // Text of the program below 4 GiB from its start: one high half to compare.
    let (start, end) = executable().filter(|(start, end)| start >> 32 == (end - 1) >> 32)?;
    const COUNT: usize = WATCHED.len();
    let mut program = [step(RETURN, 0, 0, ALLOW); COUNT + 13];
    let mut at = 0;
    let mut put = |instruction| {
        if let Some(place) = program.get_mut(at) {
            *place = instruction;
            at += 1;
        }
    };
    put(step(LOAD, 0, 0, 4));
    put(step(JUMP_EQUAL, 1, 0, nr::AUDIT_ARCH));
    put(step(RETURN, 0, 0, ALLOW));
    put(step(LOAD, 0, 0, 0));
    // Jumps count the instructions that are left out.
    put(step(
        JUMP_EQUAL,
        (COUNT + 7) as u8,
        0,
        nr::IO_URING_SETUP as u32,
    ));
    for (index, number) in WATCHED.iter().enumerate() {
        put(step(JUMP_EQUAL, (COUNT - index) as u8, 0, *number as u32));
    }
    put(step(RETURN, 0, 0, ALLOW));
    put(step(LOAD, 0, 0, 12));
    put(step(JUMP_EQUAL, 0, 3, (start >> 32) as u32));
    put(step(LOAD, 0, 0, 8));
    put(step(JUMP_AT_LEAST, 0, 1, start as u32));
    put(step(JUMP_ABOVE, 0, 1, (end - 1) as u32));
    put(step(RETURN, 0, 0, ALLOW));
    put(step(RETURN, 0, 0, USER_NOTIFICATION));
    let filter = Filter {
        length: at as u16,
        instructions: program.as_ptr(),
    };
    // SAFETY: the filter lives through the call; both calls change what this thread may do only
    // in that it gains no rights by starting a setuid program.
    let listener = unsafe {
        let filter = (&raw const filter) as usize;
        let arguments = [SET_MODE_FILTER, NEW_LISTENER, filter];
        let mut listener = sys::syscall(nr::SECCOMP, arguments);
        if listener == -13 {
            sys::syscall(nr::PRCTL, [PR_SET_NO_NEW_PRIVS, 1]);
            listener = sys::syscall(nr::SECCOMP, arguments);
        }
        listener
    };
    // A program that has such a listener already, or a kernel without: goes without the tripwire.
    (listener >= 0).then_some(listener as i32)
}

/// Where the program's own instructions are in memory.
fn executable() -> Option<(usize, usize)> {
    // SAFETY: the kernel put the program's headers there.
    unsafe {
        let headers = getauxval(AT_PHDR) as *const ProgramHeader;
        let all = sys::slice(headers, getauxval(AT_PHNUM));
        let own = all.iter().find(|header| header.kind == PT_PHDR)?;
        let base = (headers as usize).wrapping_sub(own.address);
        let text = all
            .iter()
            .filter(|header| header.kind == PT_LOAD && header.flags & PF_X != 0)
            .map(|header| {
                let start = base.wrapping_add(header.address);
                (start, start.wrapping_add(header.memory_size))
            });
        let range = text.reduce(|(a, b), (start, end)| (a.min(start), b.max(end)));
        range.filter(|(start, end)| end > start)
    }
}
