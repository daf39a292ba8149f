//! An interface of Linux, by libpcap.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

use pcap::{Active, Capture, Device, Linktype, Precision};
use rustix::event::{PollFd, PollFlags};

use super::interface::{
    BUFFER_BYTES, HANDED_OVER_MS, LiveError, Next, Opened, SNAP_LENGTH, Stats, Wanted, filtered,
};

/// Linux's header for frames of several interfaces, with the number of each.
const LINUX_SLL2: Linktype = Linktype(276);

/// An interface that is open.
pub(super) struct Tap(Capture<Active>);

impl Tap {
    /// Lets nothing more into the kernel's buffer; since when.
    pub fn shut(&mut self) -> Instant {
        let mut nothing = [libc::sock_filter {
            code: (libc::BPF_RET | libc::BPF_K) as u16,
            jt: 0,
            jf: 0,
            k: 0,
        }];
        let program = libc::sock_fprog {
            len: 1,
            filter: nothing.as_mut_ptr(),
        };
        // Where it fails, packets go on to come, and `READ_WITHIN` ends it.
        // SAFETY: the descriptor is open for as long as the tap lives; the program and its one
        // instruction are read during the call.
        unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ATTACH_FILTER,
                (&raw const program).cast(),
                size_of_val(&program) as libc::socklen_t,
            );
        }
        Instant::now()
    }

    /// Waits until the kernel has something, or it is time to look around.
    pub fn wait(&self) {
        // SAFETY: the descriptor is libpcap's, which keeps it open for as long as the tap lives.
        let descriptor = unsafe { BorrowedFd::borrow_raw(self.0.as_raw_fd()) };
        let mut descriptors = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
        let patience = Duration::from_millis(HANDED_OVER_MS as u64);
        // A signal, or an error, shows where the next packet is asked for.
        let _ = netreel_system::ready::wait(&mut descriptors, Some(patience));
    }

    /// What comes next.
    pub fn next(&mut self) -> Next<'_> {
        match self.0.next_packet() {
            Ok(packet) => {
                // The fraction is in nanoseconds, whatever its name.
                let ts = packet.header.ts;
                Next::Packet {
                    utc_ns: i128::from(ts.tv_sec) * 1_000_000_000 + i128::from(ts.tv_usec),
                    bytes: packet.data,
                }
            }
            Err(pcap::Error::TimeoutExpired) => Next::Nothing,
            Err(error) => Next::Gone(said(&error)),
        }
    }

    /// What is counted; `None` where nobody tells.
    pub fn stats(&mut self) -> Option<Stats> {
        let stats = self.0.stats().ok()?;
        Some(Stats {
            taken: Some(stats.received.wrapping_sub(stats.dropped)),
            dropped: stats.dropped,
            if_dropped: stats.if_dropped,
        })
    }

    /// Whether moments are by the system's calendar, however often that is set.
    pub fn is_by_calendar(&self) -> bool {
        true
    }

    /// How its frames begin, as libpcap numbers it.
    pub fn link_type(&self) -> i32 {
        self.0.get_datalink().0
    }
}

/// Opens the interface that is wanted.
pub(super) fn open(wanted: &Wanted) -> Result<Opened<Tap>, LiveError> {
    let name = wanted.interface.as_str();
    let failed = |error: pcap::Error| {
        let (name, why) = (name.to_owned(), said(&error));
        let words = why.to_lowercase();
        if words.contains("permission") || words.contains("not permitted") {
            LiveError::Forbidden { name, why }
        } else {
            LiveError::Open { name, why }
        }
    };
    let there = Device::list().map_err(failed)?;
    let Some(device) = there.iter().find(|device| device.name == name) else {
        // Those that are no network: buses, logs of the firewall.
        let network = |device: &&Device| {
            let other = ["bluetooth", "nflog", "nfqueue", "usbmon", "dbus"];
            !other.iter().any(|start| device.name.starts_with(start))
        };
        return Err(LiveError::NoInterface {
            name: name.to_owned(),
            there: there
                .iter()
                .filter(network)
                .map(|device| device.name.clone())
                .collect(),
        });
    };
    let inactive = Capture::from_device(name)
        .map_err(failed)?
        .promisc(name != "any")
        .snaplen(SNAP_LENGTH)
        .buffer_size(BUFFER_BYTES)
        .timeout(HANDED_OVER_MS)
        .precision(Precision::Nano);
    // libpcap itself would wait for a packet, however long that takes, and through every signal.
    let opened = inactive.open().and_then(Capture::setnonblock);
    let mut capture = opened.map_err(failed)?;
    let loopback = device.flags.is_loopback();
    let mut counts_twice = name == "any" || (loopback && !leave_out_outgoing(&capture));
    // Where libpcap is too old for it, the frames do not say at which interface they were.
    if name == "any" {
        let _ = capture.set_datalink(LINUX_SLL2);
    }
    let filter = filtered(wanted, |filter| {
        capture.filter(filter, true).map_err(|error| said(&error))
    })?;
    if name == "any" {
        counts_twice = !leave_out_outgoing_of_loopback(&mut capture, &filter);
    }
    Ok(Opened {
        tap: Tap(capture),
        filter,
        counts_twice,
    })
}

/// What goes out of a loopback interface comes in there as well. Where the kernel hands over both
/// (before Linux 4.20), libpcap leaves out one, but drops are counted twice. Whether the
/// kernel leaves it out.
fn leave_out_outgoing(capture: &Capture<Active>) -> bool {
    const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open for as long as `capture` lives, and the option reads one int.
    unsafe {
        let done = libc::setsockopt(
            capture.as_raw_fd(),
            libc::SOL_PACKET,
            PACKET_IGNORE_OUTGOING,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        );
        done == 0
    }
}

/// The same where packets of all interfaces are captured: by the filter, which needs frames that
/// say at which interface they were. Whether it was done.
fn leave_out_outgoing_of_loopback(capture: &mut Capture<Active>, filter: &str) -> bool {
    // SAFETY: reads a name that ends with a zero.
    let number = unsafe { libc::if_nametoindex(c"lo".as_ptr()) };
    if number == 0 {
        return true;
    }
    let incoming = format!("not (ifindex {number} and outbound)");
    let both = match filter.trim() {
        "" => incoming,
        filter => format!("{incoming} and ({filter})"),
    };
    capture.get_datalink() == LINUX_SLL2 && capture.filter(&both, true).is_ok()
}

/// What the system calls the interface of a number; `None` where it is gone.
pub(super) fn interface_name(number: u32) -> Option<String> {
    let mut name = [0; libc::IF_NAMESIZE];
    // SAFETY: the buffer has room for the longest name and its end.
    let found = unsafe { libc::if_indextoname(number, name.as_mut_ptr()) };
    let name = name.map(|letter| letter as u8);
    let name = std::ffi::CStr::from_bytes_until_nul(&name).ok()?;
    (!found.is_null()).then(|| name.to_string_lossy().into_owned())
}

fn said(error: &pcap::Error) -> String {
    match error {
        pcap::Error::PcapError(words) => words.clone(),
        other => other.to_string(),
    }
}
