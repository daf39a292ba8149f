//! The table, called from Rust.

use std::ffi::{CStr, CString};
use std::mem::{MaybeUninit, zeroed};
use std::path::Path;
use std::ptr::null_mut;

use netreel::types::*;
use netreel::{Api, netreel_load};

/// The whole table.
pub fn api() -> Api {
    let mut api = MaybeUninit::<Api>::uninit();
    // SAFETY: the place has the size that is given.
    unsafe {
        let size = u32::try_from(size_of::<Api>()).unwrap();
        assert_eq!(netreel_load(api.as_mut_ptr(), size, API_VERSION), OK);
        api.assume_init()
    }
}

/// Calls a function of the table. What is given is as the header asks, or what it promises to
/// refuse.
macro_rules! call {
    ($api:expr, $name:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: see above.
        unsafe { ($api.$name.unwrap())($($argument),*) }
    };
}

pub(crate) use call;

/// No handle.
pub const NOTHING: Handle = Handle(null_mut());

/// The sentence of the thread's last error.
pub fn text(api: &Api) -> String {
    let text = call!(api, error_text());
    // SAFETY: the library says that it ends with a zero byte.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned()
}

/// Options that name a reel and nothing else.
pub fn options(path: &CStr) -> COptions {
    // SAFETY: zeros are a value.
    let mut options: COptions = unsafe { zeroed() };
    options.size = u32::try_from(size_of::<COptions>()).unwrap();
    options.path = path.as_ptr();
    options
}

pub fn c_path(path: &Path) -> CString {
    CString::new(path.to_str().unwrap()).unwrap()
}

/// 127.0.0.1:7000.
pub fn peer() -> CEndpoint {
    let mut endpoint = CEndpoint {
        family: 4,
        port: 7000,
        ..CEndpoint::default()
    };
    endpoint.address[..4].copy_from_slice(&[127, 0, 0, 1]);
    endpoint
}

/// A recording with a thread and a socket.
pub struct Open {
    pub api: Api,
    pub recorder: Handle,
    pub thread: Handle,
    pub socket: u32,
    pub folder: tempfile::TempDir,
}

pub fn open_with(change: impl FnOnce(&mut COptions)) -> Open {
    let api = api();
    let folder = tempfile::tempdir().unwrap();
    let path = c_path(&folder.path().join("a.reel"));
    let mut options = options(&path);
    options.start = c"start".as_ptr().cast();
    options.start_length = 5;
    change(&mut options);
    let (mut recorder, mut thread, mut socket) = (NOTHING, NOTHING, 0);
    assert_eq!(call!(api, open(&options, &mut recorder)), OK);
    assert_eq!(call!(api, thread_open(recorder, &mut thread)), OK);
    assert_eq!(call!(api, socket_opened(thread, &peer(), &mut socket)), OK);
    Open {
        api,
        recorder,
        thread,
        socket,
        folder,
    }
}

pub fn open() -> Open {
    open_with(|_| {})
}

impl Open {
    /// Records one.
    pub fn note(&self) -> i32 {
        call!(self.api, note(self.thread, c"note".as_ptr(), 4))
    }

    /// What was recorded.
    pub fn reel(&self) -> netreel_reel::Reel {
        netreel_record::open(self.folder.path().join("a.reel")).unwrap()
    }
}
