//! Shared libraries that are loaded while the program runs.

use std::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};

/// Loads a library, which stays loaded; what it does when it is loaded, it does.
///
/// # Errors
/// What the loader says.
pub fn load(path: &Path) -> Result<Library, String> {
    here::load(path).map(Library)
}

/// A library that is loaded.
#[derive(Clone, Copy, Debug)]
pub struct Library(*mut c_void);

impl Library {
    /// Where a name leads in it.
    pub fn find(&self, name: &CStr) -> Option<*mut c_void> {
        let found = here::find(self.0, name);
        (!found.is_null()).then_some(found)
    }
}

/// The program or the shared library in which this process has the code at an address; `None` where the
/// system does not tell.
pub fn file_of(address: usize) -> Option<PathBuf> {
    here::file_of(address)
}

#[cfg(unix)]
mod here {
    use std::ffi::{CStr, CString, c_void};
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};

    pub(super) fn load(path: &Path) -> Result<*mut c_void, String> {
        let name = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| "the name has a zero byte".to_owned())?;
        // SAFETY: it takes a text. Whoever names a library wants its code to run.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            Err(error())
        } else {
            Ok(library)
        }
    }

    pub(super) fn find(library: *mut c_void, name: &CStr) -> *mut c_void {
        // SAFETY: the library is loaded for good, the name a text.
        unsafe { libc::dlsym(library, name.as_ptr()) }
    }

    pub(super) fn file_of(address: usize) -> Option<PathBuf> {
        // Linux's; elsewhere there is no such file.
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        maps.lines().find_map(|line| {
            let (range, rest) = line.split_once(' ')?;
            let (from, until) = range.split_once('-')?;
            let hex = |text| usize::from_str_radix(text, 16).ok();
            let is_here = (hex(from)?..hex(until)?).contains(&address);
            let path = rest.find('/').and_then(|place| rest.get(place..));
            is_here.then(|| path.map(PathBuf::from))?
        })
    }

    fn error() -> String {
        // SAFETY: it returns a text of this thread's, or nothing.
        let text = unsafe { libc::dlerror() };
        match text.is_null() {
            true => String::new(),
            // SAFETY: a text that ends with a zero, and stays until the next call.
            false => unsafe { CStr::from_ptr(text) }
                .to_string_lossy()
                .into_owned(),
        }
    }
}

#[cfg(windows)]
mod here {
    use std::ffi::{CStr, c_void};
    use std::io;
    use std::os::windows::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};

    use windows_sys::Win32::System::LibraryLoader::{
        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
        GetModuleFileNameW, GetModuleHandleExW, GetProcAddress, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS,
        LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR, LoadLibraryExW,
    };

    pub(super) fn load(path: &Path) -> Result<*mut c_void, String> {
        let mut name: Vec<u16> = path.as_os_str().encode_wide().collect();
        if name.contains(&0) {
            return Err("the name has a zero character".to_owned());
        }
        name.push(0);
        // What it needs may lie beside it.
        let how = LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR;
        // SAFETY: it takes a text. Whoever names a library wants its code to run.
        let library = unsafe { LoadLibraryExW(name.as_ptr(), std::ptr::null_mut(), how) };
        if library.is_null() {
            Err(io::Error::last_os_error().to_string())
        } else {
            Ok(library)
        }
    }

    pub(super) fn find(library: *mut c_void, name: &CStr) -> *mut c_void {
        // SAFETY: the library is loaded for good, the name a text.
        let found = unsafe { GetProcAddress(library, name.as_ptr().cast()) };
        found.map_or(std::ptr::null_mut(), |found| found as *mut c_void)
    }

    pub(super) fn file_of(address: usize) -> Option<PathBuf> {
        let how =
            GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
        let mut module = std::ptr::null_mut();
        // SAFETY: with these flags it takes an address instead of a name.
        if unsafe { GetModuleHandleExW(how, address as *const u16, &raw mut module) } == 0 {
            return None;
        }
        // The longest path that there is.
        let mut name = vec![0u16; 1 << 15];
        // SAFETY: it writes at most so many characters.
        let length = unsafe { GetModuleFileNameW(module, name.as_mut_ptr(), name.len() as u32) };
        let name = name.get(..length as usize).filter(|it| !it.is_empty())?;
        Some(PathBuf::from(std::ffi::OsString::from_wide(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_cannot_be_loaded() {
        let error = load(Path::new("nowhere/nothing")).expect_err("no file");
        assert!(!error.is_empty());
    }

    #[test]
    fn the_program_lies_in_its_file() {
        let here = the_program_lies_in_its_file as fn() as usize;
        let own = std::env::current_exe().expect("this program");
        assert_eq!(file_of(here), Some(own));
    }
}
