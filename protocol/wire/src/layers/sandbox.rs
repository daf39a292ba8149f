//! The Lua machine of a script: what is in its world, and what a call may take.
//!
//! What a call may take is counted: steps of the machine, bytes that a function of the libraries works
//! through, bytes of memory with what is no longer used, and how deep calls stand in each other. So a
//! packet reads the same on any machine.
//!
//! An operator is one step to the machine, whatever the texts are that it looks at: `a == b` of two
//! equal texts of a megabyte, `a < b`, `t[a]`, a text that is taken for a number. Nobody can count that.
//! Where steps take many times the processor time that they take else, that time counts instead
//! ([`Pace`]). Only scripts that were written to be slow come there.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{Function, HookTriggers, Lua, LuaOptions, LuaString, StdLib, Table, Value, VmState};

use super::argument::{Argument, Failure};
use super::script::{Script, ScriptError};
use super::steps::{Pace, spend, steps, take_back};

/// What a call counts before its first step: it makes a world.
const CALL_STEPS: u64 = 20_000;
/// How often they are counted.
pub(super) const STEPS_BETWEEN: u32 = 1000;
/// How many bytes that a function works through count as a step.
pub(super) const BYTES_A_STEP: u64 = 8;
/// How many bytes a call may take, what it no longer uses included: nothing is given back before it
/// ends.
pub(super) const MEMORY_MAX: usize = 32 << 20;
/// How many bytes less a machine may take that has served a call before: where that one succeeds, so
/// does a new one.
const MEMORY_SLACK: usize = 1 << 18;
/// How deep calls may stand in each other, looked at when steps are counted.
const DEPTH_MAX: usize = 200;
/// A machine that holds more than this after a call does not serve another one.
const MEMORY_KEPT_MAX: usize = 1 << 20;
/// How many machines a thread keeps.
const MACHINES_MAX: usize = 4;
/// The longest text that `string.rep` makes.
const REPEAT_BYTES_MAX: usize = 1 << 20;

/// What scripts can call. Absent: what reaches outside, what loads code, what catches the end
/// of a script that ran too long, what takes long without a step (patterns), and what has no
/// fixed order (`pairs`).
const FUNCTIONS: [(&str, &[&str]); 4] = [
    (
        "_G",
        &[
            "assert", "error", "ipairs", "select", "tonumber", "tostring", "type",
        ],
    ),
    (
        "math",
        &[
            "abs",
            "ceil",
            "floor",
            "fmod",
            "huge",
            "max",
            "maxinteger",
            "min",
            "mininteger",
            "pi",
            "sqrt",
            "tointeger",
            "type",
            "ult",
        ],
    ),
    (
        "string",
        &[
            "byte", "char", "len", "pack", "packsize", "rep", "reverse", "sub", "unpack",
        ],
    ),
    ("table", &["concat", "insert", "pack", "remove", "unpack"]),
];

/// A Lua machine with a compiled script.
struct Machine {
    lua: Lua,
    /// Gives the globals of a new world.
    globals: Function,
    script: Function,
    /// Holds something that the first collection takes out of it.
    watch: Table,
    /// No call has run in it.
    is_new: bool,
}

impl Machine {
    fn new(text: &str) -> mlua::Result<Machine> {
        let libraries = StdLib::MATH | StdLib::STRING | StdLib::TABLE;
        let lua = Lua::new_with(libraries, LuaOptions::default())?;
        lua.gc_stop();
        let globals = worlds(&lua)?;
        // Only text: a compiled chunk could do anything.
        let script = lua.load(text).set_name("=lua");
        let script = script.set_mode(mlua::chunk::ChunkMode::Text);
        let watch = lua.create_table()?;
        let weak = lua.create_table()?;
        weak.raw_set("__mode", "v")?;
        watch.set_metatable(Some(weak))?;
        Ok(Machine {
            globals,
            script: script.into_function()?,
            watch,
            is_new: true,
            lua,
        })
    }

    /// The globals of a world in which the script has run once.
    fn world(&mut self) -> mlua::Result<Table> {
        let most = if std::mem::take(&mut self.is_new) {
            MEMORY_MAX
        } else {
            MEMORY_MAX - MEMORY_SLACK
        };
        // Steps are counted from the script's first one on, whatever ran in the machine before.
        self.lua.remove_hook();
        // The collector does not run by itself: it only does where the memory is used up, and then
        // the call has come to its end.
        self.lua.set_memory_limit(self.lua.used_memory() + most)?;
        self.watch.raw_set(1, self.lua.create_table()?)?;
        let globals: Table = self.globals.call(())?;
        Pace::begin();
        spend(CALL_STEPS, 0)?;
        let triggers = HookTriggers::new().every_nth_instruction(STEPS_BETWEEN);
        let watch = Rc::new(self.watch.clone());
        self.lua.set_hook(triggers, move |lua, debug| {
            let line = count(debug)?;
            has_memory(&watch)?;
            is_not_deep(lua, line)
        })?;
        self.script.call::<()>(&globals)?;
        Ok(globals)
    }
}

/// Counts the steps since it was last called, and their time where that is more; the line that runs, 0
/// where it is not the script's own.
pub(super) fn count(debug: &mlua::debug::Debug<'_>) -> mlua::Result<usize> {
    let is_own = debug.source().short_src.as_deref() == Some("lua");
    let line = debug.current_line().filter(|_| is_own).unwrap_or(0);
    #[cfg(test)]
    super::steps::COUNTED.set(super::steps::counted() + u64::from(STEPS_BETWEEN));
    spend(u64::from(STEPS_BETWEEN), line)?;
    Pace::keep(line)?;
    Ok(line)
}

/// Fails where calls stand too deep in each other.
pub(super) fn is_not_deep(lua: &Lua, line: usize) -> mlua::Result<VmState> {
    match lua.inspect_stack(DEPTH_MAX, |_| ()) {
        None => Ok(VmState::Continue),
        Some(()) => Err(mlua::Error::runtime(format!(
            "lua:{line}: calls stand deeper in each other than the limit of {DEPTH_MAX}"
        ))),
    }
}

/// Fails where something was collected: the call has taken all the memory that it may.
fn has_memory(watch: &Table) -> mlua::Result<()> {
    match watch.raw_get::<Value>(1)? {
        Value::Nil => Err(mlua::Error::MemoryError(String::new())),
        _ => Ok(()),
    }
}

impl Script {
    pub(super) fn check(&self) -> Result<(), ScriptError> {
        let machine = Machine::new(&self.text);
        let world = machine.and_then(|mut machine| machine.world());
        world.map(|_| ()).map_err(|error| {
            let (line, why) = told(&error);
            let line = line.unwrap_or(0);
            ScriptError { line, why }
        })
    }

    /// Whether the script has a function of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        let found = Machine::new(&self.text)
            .and_then(|mut machine| machine.world()?.raw_get::<Value>(name));
        found.is_ok_and(|found| found.is_function())
    }

    /// Calls a function with bytes and arguments; the bytes that it gives.
    pub(crate) fn call(
        &self,
        name: &str,
        bytes: &[u8],
        arguments: &[Argument],
        max: usize,
    ) -> Result<Vec<u8>, Failure> {
        self.with_result(name, Some(bytes), arguments, |result| match result {
            Value::String(inner) => {
                let inner = inner.as_bytes();
                if inner.len() <= max {
                    Ok(inner.to_vec())
                } else {
                    Err(Failure::TooLong { max })
                }
            }
            other => Err(Failure::because(format!(
                "`{name}` gave {}, not a string",
                other.type_name()
            ))),
        })
    }

    /// Calls a function with arguments; the integer that it gives.
    pub(crate) fn integer(&self, name: &str, arguments: &[Argument]) -> Result<i64, Failure> {
        self.with_result(name, None, arguments, |result| match result {
            Value::Integer(integer) => Ok(*integer),
            other => Err(Failure::because(format!(
                "`{name}` gave {}, not an integer",
                other.type_name()
            ))),
        })
    }

    /// A call that takes too much memory is made again in a machine of its own: whether it does must
    /// not depend on what other calls left in this one's.
    fn with_result<R>(
        &self,
        name: &str,
        bytes: Option<&[u8]>,
        arguments: &[Argument],
        take: impl Fn(&Value) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let before = steps();
        if let Some(mut machine) = self.kept() {
            let result = call(&mut machine, name, bytes, arguments, &take);
            match result {
                Err(Ended::Memory) => take_back(before),
                Err(Ended::Failed(failure)) => return Err(failure),
                Ok(result) => {
                    self.keep(machine);
                    return Ok(result);
                }
            }
        }
        let mut machine = Machine::new(&self.text)
            .map_err(|error| failed(name, &error))
            .map_err(|ended| ended.failure(name))?;
        let result = call(&mut machine, name, bytes, arguments, &take)
            .map_err(|ended| ended.failure(name))?;
        self.keep(machine);
        Ok(result)
    }

    /// The machine that was kept for this script.
    fn kept(&self) -> Option<Machine> {
        MACHINES.with_borrow_mut(|machines| {
            let is_own = |(text, _): &(Arc<str>, Machine)| Arc::ptr_eq(text, &self.text);
            let place = machines.iter().position(is_own)?;
            Some(machines.swap_remove(place).1)
        })
    }

    fn keep(&self, machine: Machine) {
        if machine.lua.used_memory() > MEMORY_KEPT_MAX {
            let _ = machine.lua.gc_collect();
        }
        if machine.lua.used_memory() <= MEMORY_KEPT_MAX {
            MACHINES.with_borrow_mut(|machines| {
                if machines.len() >= MACHINES_MAX {
                    machines.remove(0);
                }
                machines.push((self.text.clone(), machine));
            });
        }
    }
}

/// Why a call has no result.
enum Ended {
    /// It took more memory than it may.
    Memory,
    Failed(Failure),
}

impl Ended {
    fn failure(self, name: &str) -> Failure {
        match self {
            Ended::Failed(failure) => failure,
            Ended::Memory => Failure::Broken(format!(
                "`{name}`: more than the limit of {MEMORY_MAX} bytes of memory"
            )),
        }
    }
}

fn call<R>(
    machine: &mut Machine,
    name: &str,
    bytes: Option<&[u8]>,
    arguments: &[Argument],
    take: impl Fn(&Value) -> Result<R, Failure>,
) -> Result<R, Ended> {
    let failed = |error| failed(name, &error);
    let because = |why: String| Ended::Failed(Failure::Broken(why));
    let world = machine.world().map_err(failed)?;
    let mut values = mlua::MultiValue::new();
    let text = |bytes: &[u8]| machine.lua.create_string(bytes).map(Value::String);
    if let Some(bytes) = bytes {
        values.push_back(text(bytes).map_err(failed)?);
    }
    for argument in arguments {
        values.push_back(match argument {
            Argument::Integer(value) => Value::Integer(
                i64::try_from(*value)
                    .or_else(|_| u64::try_from(*value).map(u64::cast_signed))
                    .map_err(|_| because("an argument needs more than 64 bits".to_owned()))?,
            ),
            Argument::Bytes(bytes) => text(bytes).map_err(failed)?,
        });
    }
    let function: Value = world.raw_get(name).map_err(failed)?;
    let Value::Function(function) = function else {
        return Err(because(format!("there is no function `{name}`")));
    };
    let result = function.call::<Value>(values).map_err(failed)?;
    Pace::keep(0).map_err(failed)?;
    has_memory(&machine.watch).map_err(failed)?;
    take(&result).map_err(Ended::Failed)
}

fn failed(name: &str, error: &mlua::Error) -> Ended {
    if is_memory(error) {
        return Ended::Memory;
    }
    Ended::Failed(Failure::Broken(match told(error) {
        (Some(line), why) => format!("`{name}`, line {line}: {why}"),
        (None, why) => format!("`{name}`: {why}"),
    }))
}

fn is_memory(error: &mlua::Error) -> bool {
    match error {
        mlua::Error::MemoryError(_) => true,
        mlua::Error::CallbackError { cause, .. } => is_memory(cause),
        _ => false,
    }
}

thread_local! {
    /// Machines that can serve another call, those of the last calls last.
    static MACHINES: RefCell<Vec<(Arc<str>, Machine)>> = const { RefCell::new(Vec::new()) };
}

/// Gives a machine our functions, and a function that gives the globals of a new world.
pub(super) fn worlds(lua: &Lua) -> mlua::Result<Function> {
    replace(lua)?;
    // The methods of texts are those of the world's `string`.
    let methods = lua.type_metatable::<LuaString>();
    lua.load(new_globals()).call((lua.globals(), methods))
}

/// Lua that gives a function that gives new globals, with what is in [`FUNCTIONS`] alone.
fn new_globals() -> String {
    let mut text = "local old, methods = ...\nreturn function()\nlocal new = {}\n".to_owned();
    for (table, names) in FUNCTIONS {
        let (new, old) = match table {
            "_G" => ("new".to_owned(), "old".to_owned()),
            table => (format!("new.{table}"), format!("old.{table}")),
        };
        let of = |name: &&str| format!("{name} = {old}.{name}, ");
        let entries: String = names.iter().map(of).collect();
        text += &format!("{new} = {{ {entries} }}\n");
    }
    text + "methods.__index = new.string\nreturn new\nend"
}

/// Functions that work through a whole text or table in one step of the machine say so before they
/// begin.
const CHARGED: &str = r##"
local charge, tonumber_, string, table = ...
local type, select = type, select
local byte, pack, packsize, reverse = string.byte, string.pack, string.packsize, string.reverse
local unpack_text, concat, insert, remove, unpack =
    string.unpack, table.concat, table.insert, table.remove, table.unpack
local FEW <const> = 1000
-- A place of a table takes the time of a step, a byte that of a part of one.
local FEW_PLACES <const>, BYTES_A_PLACE <const> = 50, 8
local function whole(text)
    if type(text) == "string" and #text > FEW then charge(#text) end
end
local function few(from, to, most)
    return type(from) == "number" and type(to) == "number" and from >= 0 and to >= from
        and to - from <= most
end
local function places(list, from, to)
    if type(list) ~= "table" then return end
    from, to = from or 1, to or #list
    if few(from, to, FEW_PLACES) then return end
    if type(from) == "number" and type(to) == "number" and to > from then
        charge((to - from) * BYTES_A_PLACE)
    end
end
function string.byte(text, from, to)
    if to and not few(from, to, FEW) then whole(text) end
    return byte(text, from, to)
end
function string.reverse(text) whole(text) return reverse(text) end
function string.pack(format, ...) whole(format) return pack(format, ...) end
function string.packsize(format) whole(format) return packsize(format) end
function string.unpack(format, text, at)
    whole(format)
    return unpack_text(format, text, at)
end
function table.concat(list, between, from, to)
    places(list, from, to)
    return concat(list, between, from, to)
end
function table.unpack(list, from, to)
    places(list, from, to)
    return unpack(list, from, to)
end
function table.insert(list, ...)
    if select("#", ...) == 2 then places(list) end
    return insert(list, ...)
end
function table.remove(list, at)
    if at then places(list) end
    return remove(list, at)
end
return function(text, base)
    whole(text)
    if base == nil then return tonumber_(text) end
    return tonumber_(text, base)
end
"##;

/// Puts our own in the place of some functions.
fn replace(lua: &Lua) -> mlua::Result<()> {
    let globals = lua.globals();
    // The original shows addresses.
    let shown = lua.create_function(|lua, value: Value| match value {
        Value::String(_) | Value::Integer(_) | Value::Number(_) => lua.coerce_string(value),
        Value::Boolean(value) => lua.create_string(value.to_string()).map(Some),
        other => lua.create_string(other.type_name()).map(Some),
    })?;
    globals.raw_set("tostring", shown)?;
    // The original runs for ever over an empty text.
    let repeat = lua.create_function(|lua, (text, count): (LuaString, i64)| {
        let count = usize::try_from(count).unwrap_or(0);
        let text = text.as_bytes();
        let length = text.len().checked_mul(count);
        match length {
            Some(0) => lua.create_string(""),
            Some(length) if length <= REPEAT_BYTES_MAX => {
                spend(length as u64 / BYTES_A_STEP, 0)?;
                lua.create_string(text.repeat(count))
            }
            _ => Err(mlua::Error::runtime(format!(
                "`string.rep` makes at most {REPEAT_BYTES_MAX} bytes"
            ))),
        }
    })?;
    let string: Table = globals.raw_get("string")?;
    string.raw_set("rep", repeat)?;
    let charge = lua.create_function(|_, bytes: f64| spend((bytes as u64) / BYTES_A_STEP, 0))?;
    let (tonumber, table): (Function, Table) =
        (globals.raw_get("tonumber")?, globals.raw_get("table")?);
    let charged = lua.load(CHARGED).set_name("=charged");
    let tonumber: Function = charged.call((charge, tonumber, string, table))?;
    globals.raw_set("tonumber", tonumber)
}

/// The line of the script that an error is about, where it is known, and what is wrong: `lua:12: why`.
pub(super) fn told(error: &mlua::Error) -> (Option<usize>, String) {
    let words = words(error);
    let told = words.strip_prefix("lua:").and_then(|rest| {
        let (line, why) = rest.split_once(": ")?;
        Some((line.parse().ok()?, why))
    });
    match told {
        Some((line, why)) => (Some(line), why.to_owned()),
        None => (None, words),
    }
}

/// The first line of an error, without what leads to it.
fn words(error: &mlua::Error) -> String {
    let message = match error {
        mlua::Error::SyntaxError { message, .. } | mlua::Error::RuntimeError(message) => {
            message.clone()
        }
        mlua::Error::MemoryError(_) => {
            return format!("more than the limit of {MEMORY_MAX} bytes of memory");
        }
        mlua::Error::CallbackError { cause, .. } => return words(cause),
        other => other.to_string(),
    };
    let first = message.lines().next().unwrap_or_default();
    // Where our own stand in the place of functions, their lines say nothing.
    match first
        .strip_prefix("charged:")
        .and_then(|it| it.split_once(": "))
    {
        Some((_, why)) => why.to_owned(),
        None => first.to_owned(),
    }
}
