//! Functions that are looked up while the program runs, and libraries that it loads.
//!
//! Whoever asks the C library for one of its functions that a hook stands before is given the
//! hook. What these calls do depends on who calls them, so the hooks go on to the C library by a
//! jump, with the caller's registers, stack and return address as they were.

use core::ffi::{CStr, c_char, c_void};

use netreel_shared::call::PastId;

use crate::children::vfork;
use crate::descriptors::{__dprintf_chk, closefrom, dprintf};
use crate::exec_list::{execl, execle, execlp};
use crate::hook::{Hooked, Onward, hooked, passing};
use crate::meets::call_once;
use crate::objects::{Place, Real, View, find, next};
use crate::randomness::{_ZNSt13random_device9_M_getvalEv, arc4random_buf};
use crate::sockets;
use crate::sys::{RTLD_NEXT, quietly};

static HOOKED: &[Hooked] = hooked![
    vfork dlsym dlvsym dlopen dlmopen execl execlp execle dprintf __dprintf_chk closefrom
    _ZNSt13random_device9_M_getvalEv arc4random_buf call_once
];

macro_rules! of_files {
    ($($file:ident)*) => {
        &[HOOKED, $(crate::$file::HOOKED,)*]
    };
}

/// The hooks of all files.
static ALL: &[&[Hooked]] = of_files![
    send receive by_number cancels children descriptors others printed waits clocks randomness
    sandbox processes own_number names signals numbered streams threads tree locks meets
    counters
];

/// The hook before the function of this name.
fn hook_of(name: &CStr) -> Option<*mut c_void> {
    let mut all = ALL.iter().copied().flatten();
    let found = all.find(|hooked| hooked.is_before(name))?;
    Some(found.address())
}

type Finds = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
static DLVSYM: Real<Finds> = Real::behind(c"dlvsym");

const RTLD_DEFAULT: *mut c_void = core::ptr::null_mut();
const RTLD_DEEPBIND: usize = 8;
const LM_ID_BASE: isize = 0;

passing! {
    fn dlsym[real]([handle, name, ..], caller) {
        let handle = *handle as *mut c_void;
        looked_up(real, handle, *name, caller, |name| find(handle, name))
    }

    fn dlvsym[real]([handle, name, version, ..], caller) {
        let (handle, version) = (*handle as *mut c_void, *version as *const c_char);
        looked_up(real, handle, *name, caller, |name| {
            let find = DLVSYM.get();
            find.map_or(core::ptr::null_mut(), |find| find(handle, name.as_ptr(), version))
        })
    }

    fn dlopen[real]([_, mode, ..], _) {
        if mode & RTLD_DEEPBIND != 0 {
            quietly_past(PastId::DEEP);
        }
        Onward::to(real)
    }

    fn dlmopen[real]([space, _, mode, ..], _) {
        if *space as isize != LM_ID_BASE {
            quietly_past(PastId::NAMESPACE);
        } else if mode & RTLD_DEEPBIND != 0 {
            quietly_past(PastId::DEEP);
        }
        Onward::to(real)
    }
}

/// What `caller` is to get that looks `name` up with `function`.
///
/// # Safety
/// `name` is null or a zero-ended string.
unsafe fn looked_up(
    function: *mut c_void,
    handle: *mut c_void,
    name: usize,
    caller: usize,
    look: impl FnOnce(&CStr) -> *mut c_void,
) -> Onward {
    if function.is_null() || name == 0 || handle == RTLD_DEFAULT {
        return Onward::to(function);
    }
    // SAFETY: the caller vouches for it.
    let name = unsafe { CStr::from_ptr(name as *const c_char) };
    let Some(hook) = hook_of(name) else {
        return Onward::to(function);
    };
    if handle == RTLD_NEXT {
        return match gets_the_hook(name, caller) {
            true => Onward::answer(hook),
            false => Onward::to(function),
        };
    }
    let found = look(name);
    if found.is_null() || found == hook {
        return Onward::answer(found);
    }
    let chain = next(name);
    let view = View::of(name, [caller, chain as usize, found as usize]);
    let [asking, chained, found_in] = view.places;
    // Whether no other library has such a function between the hook and the C library.
    let leads_to_c = found == chain || chained.is_c;
    // Whether the hook never calls this object: the program itself, or what it loaded.
    let is_the_programs = asking.index.is_none_or(|index| index == 0) || asking.is_late();
    let answer = if found != chain && !found_in.is_c {
        found
    } else if leads_to_c || is_the_programs {
        hook
    } else {
        name_unless_it_stands_before(asking);
        found
    };
    Onward::answer(answer)
}

/// Whether `caller` gets the hook for RTLD_NEXT. To libraries that the loader put behind this one the C
/// library's function is the next one, and the hook takes its place where nothing stands between.
fn gets_the_hook(name: &CStr, caller: usize) -> bool {
    let chain = next(name);
    let view = View::of(name, [caller, chain as usize, 0]);
    let [asking, chained, _] = view.places;
    // The program, and what was preloaded before this library, find the hook by themselves.
    if asking.index.is_none_or(|index| index <= view.own) {
        return false;
    }
    if chained.is_c && !view.late_definition {
        return true;
    }
    if asking.is_late() {
        quietly_past(PastId::LOOKED_UP);
    } else {
        name_unless_it_stands_before(asking);
    }
    false
}

/// An object that has a function of that name stands before the C library's, and needs that one.
fn name_unless_it_stands_before(asking: Place) {
    if !asking.defines {
        quietly_past(PastId::LOOKED_UP);
    }
}

fn quietly_past(what: PastId) {
    quietly(|| sockets::past(what));
}
