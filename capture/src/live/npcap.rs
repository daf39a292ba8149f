//! An interface of Windows, by Npcap's `wpcap.dll`, which is loaded when somebody asks for it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use netreel_system::library::{Library, load};

use super::interface::{
    BUFFER_BYTES, HANDED_OVER_MS, LiveError, Next, Opened, SNAP_LENGTH, Stats, Wanted, filtered,
};

/// Between two looks at what has come.
const PAUSE: Duration = Duration::from_millis(2);

/// What is said where the library is not there, and what to do.
const MISSING: &str = "Npcap is not installed here";
const INSTEAD: &str =
    "install it from https://npcap.com, or capture with another program and read its file";

/// Room for what the library says of a failure.
const ERROR_BYTES: usize = 256;
type ErrorText = [c_char; ERROR_BYTES];

/// An interface, as `pcap.h` has it.
#[repr(C)]
struct Device {
    next: *mut Device,
    name: *const c_char,
    description: *const c_char,
    addresses: *const c_void,
    flags: u32,
}

/// A compiled filter.
#[repr(C)]
struct Program {
    length: u32,
    instructions: *mut c_void,
}

/// What stands before a frame. A moment has two numbers of 32 bits on Windows.
#[repr(C)]
struct Head {
    seconds: i32,
    micros: i32,
    captured: u32,
    length: u32,
}

/// What is counted.
#[repr(C)]
#[derive(Default)]
struct Counted {
    received: u32,
    dropped: u32,
    if_dropped: u32,
    captured: u32,
    sent: u32,
    net_dropped: u32,
}

/// `PCAP_CHAR_ENC_UTF_8`: texts are in UTF-8. Else they are in the code page of the machine.
const UTF_8: u32 = 1;

/// `PCAP_TSTAMP_HOST_HIPREC`: moments are by the system's clock, which is set and slewed, to less than a
/// microsecond. Else they are by a counter that was tied to it once, and drift apart.
const BY_THE_CALENDAR: c_int = 2;

/// `PCAP_ERROR_NO_SUCH_DEVICE`.
const NO_SUCH_DEVICE: c_int = -5;

/// `PCAP_ERROR_PERM_DENIED`, and `PCAP_ERROR_PROMISC_PERM_DENIED`.
const DENIED: [c_int; 2] = [-8, -11];

/// Declares what is asked of the library.
macro_rules! functions {
    ($($name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// What is asked of the library, as `pcap.h` declares it.
        #[derive(Clone, Copy)]
        struct Npcap {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            newer: Newer,
        }

        impl Npcap {
            /// # Errors
            /// The function that the library lacks.
            fn of(library: Library) -> Result<Npcap, &'static str> {
                Ok(Npcap {
                    $($name: {
                        let name = concat!(stringify!($name), "\0").as_bytes();
                        let name = CStr::from_bytes_with_nul(name).unwrap_or_default();
                        let found = library.find(name).ok_or(stringify!($name))?;
                        // SAFETY: under this name the library has a function of this type.
                        unsafe {
                            std::mem::transmute::<
                                *mut c_void,
                                unsafe extern "C" fn($($argument),*) $(-> $result)?,
                            >(found)
                        }
                    },)*
                    newer: Newer::of(library),
                })
            }
        }
    };
}

/// What older libraries lack.
#[derive(Clone, Copy)]
struct Newer {
    pcap_init: Option<unsafe extern "C" fn(u32, *mut c_char) -> c_int>,
    pcap_set_tstamp_type: Option<unsafe extern "C" fn(*mut c_void, c_int) -> c_int>,
}

impl Newer {
    fn of(library: Library) -> Newer {
        // SAFETY: under these names the library has functions of these types; none is no function.
        unsafe {
            Newer {
                pcap_init: std::mem::transmute::<
                    *mut c_void,
                    Option<unsafe extern "C" fn(u32, *mut c_char) -> c_int>,
                >(library.find(c"pcap_init").unwrap_or(ptr::null_mut())),
                pcap_set_tstamp_type: std::mem::transmute::<
                    *mut c_void,
                    Option<unsafe extern "C" fn(*mut c_void, c_int) -> c_int>,
                >(
                    library
                        .find(c"pcap_set_tstamp_type")
                        .unwrap_or(ptr::null_mut()),
                ),
            }
        }
    }
}

functions! {
    pcap_findalldevs(*mut *mut Device, *mut c_char) -> c_int;
    pcap_freealldevs(*mut Device);
    pcap_create(*const c_char, *mut c_char) -> *mut c_void;
    pcap_set_snaplen(*mut c_void, c_int) -> c_int;
    pcap_set_promisc(*mut c_void, c_int) -> c_int;
    pcap_set_timeout(*mut c_void, c_int) -> c_int;
    pcap_set_buffer_size(*mut c_void, c_int) -> c_int;
    pcap_activate(*mut c_void) -> c_int;
    pcap_setnonblock(*mut c_void, c_int, *mut c_char) -> c_int;
    pcap_compile(*mut c_void, *mut Program, *const c_char, c_int, u32) -> c_int;
    pcap_setfilter(*mut c_void, *mut Program) -> c_int;
    pcap_freecode(*mut Program);
    pcap_datalink(*mut c_void) -> c_int;
    pcap_next_ex(*mut c_void, *mut *const Head, *mut *const u8) -> c_int;
    pcap_stats(*mut c_void, *mut Counted) -> c_int;
    pcap_geterr(*mut c_void) -> *const c_char;
    pcap_statustostr(c_int) -> *const c_char;
    pcap_close(*mut c_void);
}

/// An interface that is open.
pub(super) struct Tap {
    npcap: Npcap,
    handle: *mut c_void,
    /// Whether moments are by the system's calendar; else by a counter that drifts apart from it.
    by_calendar: bool,
    /// What passes later by the calendar is not handed over any more, in nanoseconds.
    until_ns: Option<i128>,
}

impl Drop for Tap {
    fn drop(&mut self) {
        // SAFETY: the handle is open, and nobody has it any more.
        unsafe { (self.npcap.pcap_close)(self.handle) };
    }
}

/// Interfaces have no numbers in frames here.
pub(super) fn interface_name(_: u32) -> Option<String> {
    None
}

/// Opens the interface that is wanted: by its name, or by its description.
pub(super) fn open(wanted: &Wanted) -> Result<Opened<Tap>, LiveError> {
    let name = wanted.interface.as_str();
    let open = |why: String| LiveError::Open {
        name: name.to_owned(),
        why,
    };
    let npcap = loaded().map_err(open)?;
    let there = devices(npcap).map_err(open)?;
    if there.is_empty() {
        return Err(LiveError::Forbidden {
            name: name.to_owned(),
            why: "Npcap shows no interface at all".to_owned(),
        });
    }
    let is_it = |it: &&Named| it.name == name || it.description.eq_ignore_ascii_case(name);
    let Some(device) = there.iter().find(is_it) else {
        let there = there.into_iter().map(Named::shown);
        return Err(LiveError::NoInterface {
            name: name.to_owned(),
            there: there.collect(),
        });
    };
    // Some drivers of radio and of tunnels refuse all that is not theirs, and a game's packets are.
    let tap = Tap::open(npcap, &device.name, true);
    let tap = tap.or_else(|_| Tap::open(npcap, &device.name, false));
    let tap = tap.map_err(|(code, why)| match DENIED.contains(&code) {
        true => LiveError::Forbidden {
            name: name.to_owned(),
            why,
        },
        false => open(why),
    })?;
    Ok(Opened {
        filter: filtered(wanted, |filter| tap.filter(filter))?,
        tap,
        counts_twice: false,
    })
}

/// The library, from where Npcap puts it, or from where programs before it did.
///
/// # Errors
/// It is not there, or is too old.
fn loaded() -> Result<Npcap, String> {
    let windows = std::env::var_os("SystemRoot").unwrap_or_else(|| r"C:\Windows".into());
    let system = PathBuf::from(windows).join("System32");
    let places = [Path::new("Npcap"), Path::new("")];
    let mut why = String::new();
    for place in places.map(|place| system.join(place).join("wpcap.dll")) {
        match load(&place) {
            Ok(library) => {
                return Npcap::of(library).map_err(|lacks| {
                    let place = place.display();
                    format!("{place} lacks {lacks}, it is too old: {INSTEAD}")
                });
            }
            Err(error) => why = error,
        }
    }
    Err(format!("{MISSING} (wpcap.dll: {why}): {INSTEAD}"))
}

/// An interface: its name, and what people call it.
struct Named {
    name: String,
    description: String,
}

impl Named {
    fn shown(self) -> String {
        if self.description.is_empty() {
            self.name
        } else {
            format!("\"{}\" ({})", self.description, self.name)
        }
    }
}

/// # Errors
/// What the library says.
fn devices(npcap: Npcap) -> Result<Vec<Named>, String> {
    let mut first = ptr::null_mut();
    let mut error: ErrorText = [0; ERROR_BYTES];
    if let Some(init) = npcap.newer.pcap_init {
        // SAFETY: the text has the room that `pcap.h` asks for. Where it fails, texts are as they were.
        unsafe { init(UTF_8, error.as_mut_ptr()) };
    }
    // SAFETY: both places are there for the call, and the text has the room that `pcap.h` asks for.
    if unsafe { (npcap.pcap_findalldevs)(&raw mut first, error.as_mut_ptr()) } != 0 {
        return Err(text(error.as_ptr()));
    }
    let mut all = Vec::new();
    let mut next = first;
    // SAFETY: each is there until all are freed, and the last has none behind it.
    while let Some(device) = unsafe { next.as_ref() } {
        all.push(Named {
            name: text(device.name),
            description: text(device.description),
        });
        next = device.next;
    }
    // SAFETY: they came from the library, and nothing of them is kept.
    unsafe { (npcap.pcap_freealldevs)(first) };
    Ok(all)
}

/// A text of the library's; nothing where there is none.
fn text(at: *const c_char) -> String {
    match at.is_null() {
        true => String::new(),
        // SAFETY: the library gives texts that end with a zero, and leaves them while they are copied.
        false => unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned(),
    }
}

impl Tap {
    /// `promiscuous`: with packets that are meant for others.
    ///
    /// # Errors
    /// The library's code, and what it says.
    fn open(npcap: Npcap, name: &str, promiscuous: bool) -> Result<Tap, (c_int, String)> {
        let name = CString::new(name).map_err(|error| (NO_SUCH_DEVICE, error.to_string()))?;
        let mut error: ErrorText = [0; ERROR_BYTES];
        // SAFETY: the name and the room for an error are there for the call.
        let handle = unsafe { (npcap.pcap_create)(name.as_ptr(), error.as_mut_ptr()) };
        if handle.is_null() {
            return Err((NO_SUCH_DEVICE, text(error.as_ptr())));
        }
        let mut tap = Tap {
            npcap,
            handle,
            by_calendar: false,
            until_ns: None,
        };
        // SAFETY: the handle is open, and not activated before the last of these.
        let activated = unsafe {
            let set_clock = npcap.newer.pcap_set_tstamp_type;
            tap.by_calendar = set_clock.is_some_and(|set| set(handle, BY_THE_CALENDAR) == 0);
            (npcap.pcap_set_snaplen)(handle, SNAP_LENGTH);
            (npcap.pcap_set_promisc)(handle, c_int::from(promiscuous));
            (npcap.pcap_set_timeout)(handle, HANDED_OVER_MS);
            (npcap.pcap_set_buffer_size)(handle, BUFFER_BYTES);
            (npcap.pcap_activate)(handle)
        };
        // Above zero there is a warning.
        if activated < 0 {
            return Err((activated, tap.error(activated)));
        }
        // SAFETY: as above. Whoever reads waits by itself, so that an end that is asked for is met.
        if unsafe { (npcap.pcap_setnonblock)(handle, 1, error.as_mut_ptr()) } < 0 {
            return Err((-1, text(error.as_ptr())));
        }
        Ok(tap)
    }

    /// # Errors
    /// What the library says of the filter.
    fn filter(&self, filter: &str) -> Result<(), String> {
        let filter = CString::new(filter).map_err(|error| error.to_string())?;
        let mut program = Program {
            length: 0,
            instructions: ptr::null_mut(),
        };
        // SAFETY: the handle is open; the program is made by the first call, and freed by the last.
        let set = unsafe {
            let no_mask = u32::MAX;
            let made = (self.npcap.pcap_compile)(
                self.handle,
                &raw mut program,
                filter.as_ptr(),
                1,
                no_mask,
            );
            if made < 0 {
                return Err(self.error(made));
            }
            let set = (self.npcap.pcap_setfilter)(self.handle, &raw mut program);
            (self.npcap.pcap_freecode)(&raw mut program);
            set
        };
        if set < 0 {
            Err(self.error(set))
        } else {
            Ok(())
        }
    }

    /// What the library says of the last failure, which has a code.
    fn error(&self, code: c_int) -> String {
        // SAFETY: the handle is open.
        let own = text(unsafe { (self.npcap.pcap_geterr)(self.handle) });
        match own.is_empty() {
            // SAFETY: it takes any number.
            true => text(unsafe { (self.npcap.pcap_statustostr)(code) }),
            false => own,
        }
    }

    /// Hands over nothing that passes from now on, where moments tell what does; since when. A filter that
    /// lets nothing through would throw away what the driver still has.
    pub fn shut(&mut self) -> Instant {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.ok().filter(|_| self.by_calendar);
        self.until_ns = now.map(|now| now.as_nanos() as i128);
        Instant::now()
    }

    /// Whether moments are by the system's calendar, however often that is set.
    pub fn is_by_calendar(&self) -> bool {
        self.by_calendar
    }

    /// Waits until it is time to look around.
    pub fn wait(&self) {
        std::thread::sleep(PAUSE);
    }

    /// What comes next.
    pub fn next(&mut self) -> Next<'_> {
        let (mut head, mut bytes) = (ptr::null(), ptr::null());
        // SAFETY: the handle is open, and both places are there for the call.
        match unsafe { (self.npcap.pcap_next_ex)(self.handle, &raw mut head, &raw mut bytes) } {
            1 => {
                // SAFETY: where it says so, both are there until the next call.
                let (head, bytes) = unsafe {
                    let head: &Head = &*head;
                    (
                        head,
                        std::slice::from_raw_parts(bytes, head.captured as usize),
                    )
                };
                let micros = i128::from(head.seconds) * 1_000_000 + i128::from(head.micros);
                let utc_ns = micros * 1000;
                if self.until_ns.is_some_and(|until| utc_ns > until) {
                    Next::Nothing
                } else {
                    Next::Packet { utc_ns, bytes }
                }
            }
            0 => Next::Nothing,
            code => Next::Gone(self.error(code)),
        }
    }

    /// What is counted; `None` where nobody tells. How many packets passed the filter is not told.
    pub fn stats(&mut self) -> Option<Stats> {
        let mut counted = Counted::default();
        // SAFETY: the handle is open, and the place has room for all that is counted.
        let told = unsafe { (self.npcap.pcap_stats)(self.handle, &raw mut counted) };
        (told == 0).then_some(Stats {
            taken: None,
            dropped: counted.dropped,
            if_dropped: counted.if_dropped,
        })
    }

    /// How its frames begin, as libpcap numbers it.
    pub fn link_type(&self) -> i32 {
        // SAFETY: the handle is open.
        unsafe { (self.npcap.pcap_datalink)(self.handle) }
    }
}
