//! The side of netreel: loading a plugin, and its layers.

use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use netreel_reel::{EventNumber, Reel, Time};
use netreel_system::locked;
use netreel_transport::{InputError, Layer, ObjectBelief, RestoreError, Transport};

use crate::abi::{
    Beliefs, CEndpoint, CLayer, CStart, CWorld, Create, Destroy, Error, Input, NOBODY, OK, Restore,
    Save, Tick, TimeOuts, VERSION,
};
use crate::build::file_build;
use crate::host_world::{self, Sockets};

/// A plugin that is loaded. It stays in memory: what a library leaves behind may outlive it.
#[derive(Clone, Debug)]
pub struct Plugin {
    path: PathBuf,
    name: String,
    build: Option<String>,
    /// See [`file_build`].
    file_build: Option<String>,
    create: Create,
    tick: Tick,
    input: Input,
    destroy: Destroy,
    error: Option<Error>,
    /// Both or none.
    states: Option<(Save, Restore)>,
    time_outs: Option<TimeOuts>,
    beliefs: Option<Beliefs>,
}

/// Why a file is no plugin, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--layer {path}: {why}")]
pub struct LoadError {
    path: String,
    why: String,
}

/// A layer that a plugin has made.
pub struct PluginLayer {
    plugin: Plugin,
    layer: *mut c_void,
    /// Its address is the plugin's until the layer ends.
    table: Box<CWorld>,
    world: usize,
    failed: Failed,
}

/// Why a layer goes on no more; nothing: it does. Clones tell of the same layer.
pub type Failed = Arc<Mutex<Option<String>>>;

impl Plugin {
    /// Loads a shared library and asks it for its table. What the library does when it is loaded,
    /// it does.
    pub fn load(path: &Path) -> Result<Plugin, LoadError> {
        let wrong = |why: String| LoadError {
            path: path.display().to_string(),
            why,
        };
        // Without a folder the loader would look in the system's own ones.
        let file = std::fs::canonicalize(path).map_err(|error| {
            wrong(format!(
                "{error}; name the shared library of an engine's network layer"
            ))
        })?;
        // Whoever names a library wants its code to run.
        let library = netreel_system::library::load(&file).map_err(|error| {
            wrong(format!(
                "it cannot be loaded: {error}; build it as a shared library for this machine, with \
                 all that it needs"
            ))
        })?;
        let found = library.find(c"netreel_layer").ok_or_else(|| {
            wrong(
                "it has no function netreel_layer; export it as netreel_layer.h says, or with \
                 netreel_plugin::layer!"
                    .to_owned(),
            )
        })?;
        // SAFETY: the header says what a function of this name is.
        let ask: extern "C" fn(u32) -> *const CLayer = unsafe { std::mem::transmute(found) };
        let table = ask(VERSION);
        if table.is_null() {
            return Err(wrong(format!(
                "it does not serve version {VERSION} of the table; build it with this netreel's \
                 netreel_layer.h"
            )));
        }
        Plugin::of(path, table).map_err(wrong)
    }

    fn of(path: &Path, table: *const CLayer) -> Result<Plugin, String> {
        // SAFETY: the header says that size and version are the first fields.
        let (size, version) = unsafe { (*table.cast::<u32>(), *table.cast::<u32>().add(1)) };
        if version != VERSION {
            return Err(format!(
                "its table is of version {version}, this netreel knows {VERSION}; build both from \
                 one source"
            ));
        }
        let least = std::mem::offset_of!(CLayer, error);
        let size = size as usize;
        if size < least {
            return Err(format!(
                "its table has {size} bytes, {least} are needed; set size to \
                 sizeof(netreel_layer_api)"
            ));
        }
        let known = size.min(size_of::<CLayer>());
        let mut whole = MaybeUninit::<CLayer>::zeroed();
        // SAFETY: the table has this many bytes, and so has the copy; both hold functions and texts that may
        // be null, which is what a zero is.
        let whole = unsafe {
            std::ptr::copy_nonoverlapping(table.cast::<u8>(), whole.as_mut_ptr().cast(), known);
            whole.assume_init()
        };
        let lacks = |name: &str| {
            format!(
                "its table has no function `{name}`; set all but `error`, `save`, `restore`, \
                 `time_outs` and `beliefs`"
            )
        };
        // SAFETY: the header says that each is a text, or null.
        let (name, build) = unsafe { (text(whole.name), text(whole.build)) };
        Ok(Plugin {
            path: path.to_owned(),
            name,
            build: Some(build).filter(|build| !build.is_empty()),
            file_build: file_build(path).ok(),
            create: whole.create.ok_or_else(|| lacks("create"))?,
            tick: whole.tick.ok_or_else(|| lacks("tick"))?,
            input: whole.input.ok_or_else(|| lacks("input"))?,
            destroy: whole.destroy.ok_or_else(|| lacks("destroy"))?,
            error: whole.error,
            states: whole.save.zip(whole.restore),
            time_outs: whole.time_outs,
            beliefs: whole.beliefs,
        })
    }

    /// The engine that it is, as reels name it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its engine calls this build, as reels have it; `None`: it does not say.
    pub fn build(&self) -> Option<&str> {
        self.build.as_deref()
    }

    /// What the build is called after its file ([`file_build`]); `None` where it cannot be read.
    pub fn file_build(&self) -> Option<&str> {
        self.file_build.as_deref()
    }

    /// Whether its layers may be brought into a state. A layer that offers none says so when it is
    /// asked.
    pub fn offers_states(&self) -> bool {
        self.states.is_some()
    }

    /// Makes the layer of a reel's node. What it asks for, `sockets` answers.
    pub fn layer(&self, reel: &Reel, sockets: Box<dyn Sockets>) -> Result<PluginLayer, LoadError> {
        let header = reel.header();
        let word = |text: &str| CString::new(text.replace('\0', "?")).unwrap_or_default();
        let (node, engine, build) = (
            word(&header.node),
            word(&header.engine),
            word(&header.build),
        );
        let mut bound: Vec<CEndpoint> = Vec::new();
        for (socket, local) in reel.endpoints() {
            let place = usize::from(socket.0);
            bound.resize(bound.len().max(place + 1), CEndpoint::default());
            if let Some(slot) = bound.get_mut(place) {
                *slot = (*local).into();
            }
        }
        let start = CStart {
            size: size_of::<CStart>() as u32,
            sockets_count: bound.len() as u32,
            sockets: bound.as_ptr(),
            node: node.as_ptr(),
            engine: engine.as_ptr(),
            build: build.as_ptr(),
            start: header.start.as_ptr().cast(),
            start_length: header.start.len() as u64,
        };
        let world = host_world::open(sockets);
        let mut made = PluginLayer {
            plugin: self.clone(),
            layer: std::ptr::null_mut(),
            table: Box::new(host_world::table(world)),
            world,
            failed: Failed::default(),
        };
        // SAFETY: the function is the plugin's; all pointers are to what lives here.
        let code = unsafe { (self.create)(&start, &raw const *made.table, &mut made.layer) };
        if code < OK {
            made.layer = std::ptr::null_mut();
        }
        made.check(code).map_err(|why| LoadError {
            path: self.path.display().to_string(),
            why: format!("it makes no layer for {}: {why}", header.node),
        })?;
        Ok(made)
    }
}

impl PluginLayer {
    /// Tells whether the layer has failed, also when it is in somebody else's hands.
    pub fn failed(&self) -> Failed {
        Arc::clone(&self.failed)
    }

    /// The event of the tick, or the call of the game, that is played.
    pub fn turn(&self) -> EventNumber {
        host_world::turn(self.world)
    }

    /// What a function of the plugin says went wrong where it returned this.
    fn check(&self, code: i32) -> Result<(), String> {
        if code >= OK {
            return Ok(());
        }
        let said = self.plugin.error.map(|error| {
            // SAFETY: the function is the plugin's, and returns a text or null.
            unsafe { text(error(self.layer)) }
        });
        let said = said.filter(|said| !said.is_empty());
        Err(said.unwrap_or_else(|| format!("code {code}")))
    }

    fn has_failed(&self) -> bool {
        locked(&self.failed).is_some()
    }
}

impl Layer for PluginLayer {
    fn tick(&mut self, _: &mut dyn Transport) {
        if self.has_failed() {
            return;
        }
        let (tick, Time(time)) = host_world::last_tick(self.world);
        let table = &raw const *self.table;
        // SAFETY: the function and the layer are the plugin's, the table lives here.
        let code = unsafe { (self.plugin.tick)(self.layer, table, tick, time) };
        if let Err(why) = self.check(code) {
            *locked(&self.failed) = Some(why);
        }
    }

    fn input(&mut self, call: &[u8], _: &mut dyn Transport) -> Result<(), InputError> {
        let length = call.len();
        if self.has_failed() {
            let why = "the layer has failed before".to_owned();
            return Err(InputError { length, why });
        }
        let (from, table) = (call.as_ptr().cast(), &raw const *self.table);
        // SAFETY: the function and the layer are the plugin's; the call has this many bytes.
        let code = unsafe { (self.plugin.input)(self.layer, table, from, length as u64) };
        self.check(code).map_err(|why| InputError { length, why })
    }

    fn save(&self) -> Option<Vec<u8>> {
        let (save, _) = self.plugin.states.filter(|_| !self.has_failed())?;
        all_of(STATE_MAX, |to: *mut u8, room, length| {
            // SAFETY: the function and the layer are the plugin's; there is this much room.
            unsafe { save(self.layer, to.cast(), room, length) }
        })
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), RestoreError> {
        let Some((_, restore)) = self.plugin.states else {
            return Err(RestoreError::NotOffered);
        };
        let (from, table) = (state.as_ptr().cast(), &raw const *self.table);
        // SAFETY: the function and the layer are the plugin's; the state has this many bytes.
        let code = unsafe { restore(self.layer, table, from, state.len() as u64) };
        self.check(code).map_err(RestoreError::Refused)
    }

    fn time_outs(&mut self, on: bool) -> bool {
        let Some(time_outs) = self.plugin.time_outs else {
            return false;
        };
        // SAFETY: the function and the layer are the plugin's.
        unsafe { time_outs(self.layer, on.into()) >= OK }
    }

    fn beliefs(&self, say: &mut dyn FnMut(ObjectBelief)) -> bool {
        let all = self.plugin.beliefs.filter(|_| !self.has_failed());
        let all = all.and_then(|beliefs| {
            all_of(BELIEFS_MAX, |to, room, count| {
                // SAFETY: the function and the layer are the plugin's; there is this much room.
                unsafe { beliefs(self.layer, to, room, count) }
            })
        });
        let Some(all) = all else {
            return false;
        };
        all.iter().for_each(|it| {
            say(ObjectBelief {
                object: it.object,
                owner: Some(it.owner).filter(|owner| *owner != NOBODY),
                values: it.values,
            });
        });
        true
    }
}

/// A state has at most this many bytes: a plugin may say anything.
const STATE_MAX: u64 = 256 << 20;

/// A layer believes in no more objects than these: a plugin may say anything.
const BELIEFS_MAX: u64 = 1 << 24;

/// All that a function writes into the room that it is given, when it has said how many that are;
/// `None` where it has none, or says nonsense.
fn all_of<T: Clone + Default>(
    most: u64,
    ask: impl Fn(*mut T, u64, &mut u64) -> i32,
) -> Option<Vec<T>> {
    let (mut count, mut written) = (0, 0);
    if ask(std::ptr::null_mut(), 0, &mut count) < OK || count > most {
        return None;
    }
    let mut all = vec![T::default(); count as usize];
    let code = ask(all.as_mut_ptr(), count, &mut written);
    (code >= OK && written == count).then_some(all)
}

impl Drop for PluginLayer {
    fn drop(&mut self) {
        if !self.layer.is_null() {
            // SAFETY: the function and the layer are the plugin's; the layer is used no more.
            unsafe { (self.plugin.destroy)(self.layer) };
        }
        host_world::close(self.world);
    }
}

/// # Safety
///
/// `from` is null, or a text that ends with a zero byte.
unsafe fn text(from: *const c_char) -> String {
    if from.is_null() {
        return String::new();
    }
    // SAFETY: the caller says so.
    unsafe { CStr::from_ptr(from) }
        .to_string_lossy()
        .into_owned()
}
