//! The program and the libraries that are loaded: what each defines, and which one an address is in.
//!
//! The lookup functions of the C library are found here without a lookup, because hooks of this
//! library stand before those.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicPtr, AtomicUsize};

use crate::plainly::{Plainly, zero};
use crate::sys::{PT_LOAD, ProgramHeader, RTLD_NEXT, slice};

/// The debugger's list of loaded objects, as `<link.h>` has it.
#[repr(C)]
struct Debug {
    version: c_int,
    first: *const Loaded,
}

#[repr(C)]
struct Loaded {
    base: usize,
    name: *const c_char,
    dynamic: *const Dynamic,
    next: *const Loaded,
}

#[repr(C)]
struct Dynamic {
    tag: usize,
    value: usize,
}

#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: usize,
    size: usize,
}

/// What `dl_iterate_phdr` says of an object.
#[repr(C)]
struct Info {
    base: usize,
    name: *const c_char,
    headers: *const ProgramHeader,
    header_count: u16,
}

unsafe extern "C" {
    static _r_debug: Debug;
}

const PT_DYNAMIC: u32 = 2;
const PT_GNU_RELRO: u32 = 0x6474_e552;
const DT_HASH: usize = 4;
const DT_STRTAB: usize = 5;
const DT_SYMTAB: usize = 6;
const DT_GNU_HASH: usize = 0x6fff_fef5;
const DT_VERSYM: usize = 0x6fff_fff0;
/// Marks a version that only those get who ask for it.
const HIDDEN: u16 = 0x8000;
const FUNCTION: u8 = 2;

/// A function of another library, which is looked up once. `F` is its signature.
pub struct Real<F = unsafe extern "C" fn()> {
    found: AtomicPtr<c_void>,
    name: &'static CStr,
    look: fn(&CStr) -> *mut c_void,
    signature: PhantomData<F>,
}

impl<F: Copy> Real<F> {
    /// The next one behind this library, as the C library finds it.
    pub const fn new(name: &'static CStr) -> Real<F> {
        Real::by(name, next)
    }

    /// The same, found without the C library, one of whose lookups it may be.
    pub const fn behind(name: &'static CStr) -> Real<F> {
        Real::by(name, |name| behind_this(name, |_| true))
    }

    /// The C library's own, which may be called before others that stand before it are ready.
    pub const fn of_c(name: &'static CStr) -> Real<F> {
        Real::by(name, |name| behind_this(name, is_c))
    }

    const fn by(name: &'static CStr, look: fn(&CStr) -> *mut c_void) -> Real<F> {
        Real {
            found: AtomicPtr::new(core::ptr::null_mut()),
            name,
            look,
            signature: PhantomData,
        }
    }

    /// Where it is; null where the system has none of this name.
    #[inline]
    pub fn address(&self) -> *mut c_void {
        let known = self.found.get();
        if !known.is_null() {
            return known;
        }
        let found = (self.look)(self.name);
        self.found.set(found);
        found
    }

    /// The function, to be called; `None` where the system has none of this name.
    #[inline]
    pub fn get(&self) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let found = self.address();
        // SAFETY: a function, as large as its address; who calls it vouches for the signature.
        (!found.is_null()).then(|| unsafe { core::mem::transmute_copy(&found) })
    }
}

/// The C form of a name that ends in a zero byte; for constants alone.
pub const fn name(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a zero byte at the end, and nowhere else"),
    }
}

/// Declares functions of other libraries that are called here, each as the next one behind this library.
macro_rules! real {
    ($($visible:vis $constant:ident = $name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        $($visible static $constant: $crate::objects::Real<unsafe extern "C" fn($($argument),*) $(-> $result)?> =
            $crate::objects::Real::new($crate::objects::name(concat!(stringify!($name), "\0")));)*
    };
}
pub(crate) use real;

type Finds = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
static DLSYM: Real<Finds> = Real::of_c(c"dlsym");

/// The function of this name behind this library.
pub fn next(name: &CStr) -> *mut c_void {
    // SAFETY: a name that ends in a zero byte.
    unsafe { find(RTLD_NEXT, name) }
}

/// The function of this name in the library of this handle, as the C library itself finds it.
///
/// # Safety
/// The handle is one of a library, or a special one.
pub unsafe fn find(handle: *mut c_void, name: &CStr) -> *mut c_void {
    let Some(real) = DLSYM.get() else {
        return core::ptr::null_mut();
    };
    // SAFETY: the C library's function has this signature; the caller vouches for the handle.
    unsafe { real(handle, name.as_ptr()) }
}

/// What is loaded, in the order of the list. Looks without a lock: what stays for the program's life is in
/// front of it, and found first.
fn loaded() -> impl Iterator<Item = &'static Loaded> {
    // SAFETY: the loader's list, which ends with a null pointer.
    unsafe { core::iter::successors(_r_debug.first.as_ref(), |object| object.next.as_ref()) }
}

impl Loaded {
    /// The path of its file.
    fn path(&self) -> &'static CStr {
        // SAFETY: the loader keeps it there.
        unsafe { CStr::from_ptr(self.name) }
    }

    /// Its parts.
    ///
    /// # Safety
    /// It begins with its header.
    unsafe fn parts(&self) -> &'static [ProgramHeader] {
        // SAFETY: the header says where the list of its parts is.
        unsafe {
            let header = self.base as *const u8;
            let parts = header.add(32).cast::<usize>().read();
            let count = usize::from(header.add(56).cast::<u16>().read());
            slice(header.add(parts).cast::<ProgramHeader>(), count)
        }
    }
}

/// The function of this name in the first library behind this one, in the order in which RTLD_NEXT looks,
/// whose file is one of those `of`.
fn behind_this(name: &CStr, of: fn(&CStr) -> bool) -> *mut c_void {
    let here = behind_this as *const () as usize;
    let before = loaded().filter(|object| object.base <= here);
    let Some(own) = before.max_by_key(|object| object.base) else {
        return core::ptr::null_mut();
    };
    let behind = loaded()
        .skip_while(|object| !core::ptr::eq(*object, own))
        .skip(1);
    let mut asked = behind.filter(|object| of(object.path()));
    // SAFETY: what the loader says of it.
    let found = asked.find_map(|object| unsafe { defined(object.base, object.dynamic, name) });
    found.unwrap_or(0) as *mut c_void
}

/// Where the object whose file's name begins so lies: its first address, and the one behind its
/// last. `None`: none is loaded.
pub fn range_of(file: &[u8]) -> Option<(usize, usize)> {
    let object = loaded().find(|object| file_name(object.path()).starts_with(file))?;
    // SAFETY: a library begins with its header.
    let parts = unsafe { object.parts() };
    let ends = parts.iter().filter(|part| part.kind == PT_LOAD);
    let end = ends.map(|part| part.address + part.memory_size).max()?;
    Some((object.base, object.base + end))
}

/// Whether this is a place of the C library's that the loader takes the right to write to away from
/// before the program begins.
pub fn is_read_only(address: usize) -> bool {
    let mut of_c = loaded().filter(|object| is_c(object.path()) && object.base <= address);
    of_c.any(|object| {
        // SAFETY: a library begins with its header.
        let parts = unsafe { object.parts() };
        holds(parts, PT_GNU_RELRO, object.base, address)
    })
}

/// Whether the address lies in one of these parts of this kind, of an object that is loaded at `base`.
fn holds(parts: &[ProgramHeader], kind: u32, base: usize, address: usize) -> bool {
    let within = |part: &ProgramHeader| {
        let start = base.wrapping_add(part.address);
        part.kind == kind && address.wrapping_sub(start) < part.memory_size
    };
    parts.iter().any(within)
}

/// Where an object has the function of this name, in the version that is given without asking.
///
/// # Safety
/// The object is loaded at `base`, and `dynamic` is its section of that name.
unsafe fn defined(base: usize, mut dynamic: *const Dynamic, name: &CStr) -> Option<usize> {
    let (mut strings, mut symbols, mut versions) = (0, 0, 0);
    let (mut gnu, mut plain) = (0, 0);
    // SAFETY: the caller vouches for the section, the section for its tables.
    unsafe {
        while let Some(entry) = dynamic.as_ref().filter(|entry| entry.tag != 0) {
            // The loader has made addresses of most; the kernel's own library has offsets.
            let place = if entry.value < base {
                entry.value.wrapping_add(base)
            } else {
                entry.value
            };
            match entry.tag {
                DT_STRTAB => strings = place,
                DT_SYMTAB => symbols = place,
                DT_GNU_HASH => gnu = place,
                DT_HASH => plain = place,
                DT_VERSYM => versions = place,
                _ => {}
            }
            dynamic = dynamic.add(1);
        }
        if strings == 0 || symbols == 0 {
            return None;
        }
        let function = |index: u32| {
            let index = index as usize;
            let symbol = &*(symbols as *const Symbol).add(index);
            let shown = versions == 0 || *(versions as *const u16).add(index) & HIDDEN == 0;
            let is = shown
                && symbol.section != 0
                && symbol.info & 15 == FUNCTION
                && CStr::from_ptr((strings as *const c_char).add(symbol.name as usize)) == name;
            is.then(|| base.wrapping_add(symbol.value))
        };
        if gnu == 0 {
            // The older table tells how many symbols there are.
            let table = (plain as *const [u32; 2]).as_ref();
            return (1..table.map_or(0, |table| table[1])).find_map(function);
        }
        let head = gnu as *const u32;
        let (buckets, first, words) = (*head, *head.add(1), *head.add(2) as usize);
        if buckets == 0 {
            return None;
        }
        let wanted = gnu_hash(name.to_bytes());
        let bucket_list = head.add(4).cast::<usize>().add(words).cast::<u32>();
        let chain = bucket_list.add(buckets as usize);
        let mut index = *bucket_list.add((wanted % buckets) as usize);
        while index >= first {
            let entry = *chain.add((index - first) as usize);
            if entry | 1 == wanted | 1
                && let Some(found) = function(index)
            {
                return Some(found);
            }
            if entry & 1 != 0 {
                return None;
            }
            index += 1;
        }
    }
    None
}

fn gnu_hash(name: &[u8]) -> u32 {
    let step = |hash: u32, byte: &u8| hash.wrapping_mul(33).wrapping_add(u32::from(*byte));
    name.iter().fold(5381, step)
}

/// How many objects were loaded when the program began; 0 before.
static AT_START: AtomicUsize = zero();
type Each = unsafe extern "C" fn(*const Info, usize, *mut c_void) -> c_int;
static ITERATE: Real<unsafe extern "C" fn(Each, *mut c_void) -> c_int> =
    Real::of_c(c"dl_iterate_phdr");

/// Remembers how many objects there are: those that come later are loaded by the program.
pub fn count_at_start() {
    AT_START.set(View::of(c"", [0; 3]).count);
}

/// What is known of an address.
#[derive(Clone, Copy, Default)]
pub struct Place {
    /// Which object it is in, in the order of loading: 0 is the program. `None`: in none of them.
    pub index: Option<usize>,
    /// Whether that is the C library, or the kernel's own one.
    pub is_c: bool,
    /// Whether that has a function of the name that was asked for.
    pub defines: bool,
}

impl Place {
    /// Whether the program loaded the object while it ran.
    pub fn is_late(&self) -> bool {
        let count = AT_START.get();
        count > 0 && self.index.is_some_and(|index| index >= count)
    }
}

/// Where three addresses are, and who else defines a name.
pub struct View<'a> {
    name: &'a CStr,
    addresses: [usize; 3],
    pub places: [Place; 3],
    /// Where this library is.
    pub own: usize,
    /// Whether an object that was loaded while the program ran defines the name: not the first
    /// address's.
    pub late_definition: bool,
    count: usize,
}

impl<'a> View<'a> {
    /// Looks at all objects.
    pub fn of(name: &'a CStr, addresses: [usize; 3]) -> View<'a> {
        let mut view = View {
            name,
            addresses,
            places: [Place::default(); 3],
            own: 0,
            late_definition: false,
            count: 0,
        };
        if let Some(iterate) = ITERATE.get() {
            // SAFETY: the C library's function of this name, which calls `each` before it returns.
            unsafe { iterate(each, (&raw mut view).cast()) };
        }
        view
    }

    /// # Safety
    /// `info` is of a loaded object.
    unsafe fn take(&mut self, info: &Info) {
        // SAFETY: the caller vouches for it.
        let (headers, name) = unsafe {
            (
                slice(info.headers, info.header_count),
                CStr::from_ptr(info.name),
            )
        };
        let holds = |address: usize| holds(headers, PT_LOAD, info.base, address);
        let dynamic = headers.iter().find(|header| header.kind == PT_DYNAMIC);
        let defines = dynamic.is_some_and(|header| {
            let section = info.base.wrapping_add(header.address) as *const Dynamic;
            // SAFETY: the caller vouches for it.
            unsafe { defined(info.base, section, self.name).is_some() }
        });
        let place = Place {
            index: Some(self.count),
            is_c: is_c(name),
            defines,
        };
        for (address, known) in self.addresses.iter().zip(&mut self.places) {
            if holds(*address) {
                *known = place;
            }
        }
        if holds(behind_this as *const () as usize) {
            self.own = self.count;
        }
        let first = self.addresses.first().is_some_and(|first| holds(*first));
        self.late_definition |= defines && place.is_late() && !first;
        self.count += 1;
    }
}

/// How the file names of the C library's parts begin, and the kernel's own library.
const C_LIBRARIES: [&[u8]; 5] = [
    b"libc.so.",
    b"libpthread.so.",
    b"librt.so.",
    b"libdl.so.",
    b"linux-vdso.so.",
];

fn is_c(path: &CStr) -> bool {
    let file = file_name(path);
    C_LIBRARIES.iter().any(|start| file.starts_with(start))
}

fn file_name(path: &CStr) -> &[u8] {
    let mut parts = path.to_bytes().rsplit(|byte| *byte == b'/');
    parts.next().unwrap_or(&[])
}

unsafe extern "C" fn each(info: *const Info, _: usize, view: *mut c_void) -> c_int {
    // SAFETY: `of` passes what it makes, and the C library an object.
    unsafe {
        if let (Some(view), Some(info)) = (view.cast::<View<'_>>().as_mut(), info.as_ref()) {
            view.take(info);
        }
    }
    0
}
