//! Layers in Lua: functions of bytes, in a sandbox.
//!
//! A call sees a fresh world, so that no packet can leave anything for the next one: new globals, in
//! which the whole script runs again. What is in it is named in [`sandbox::FUNCTIONS`]: nothing reads
//! a file, a clock or a random number, and nothing runs for longer than its input and the limits
//! allow. The Lua machine around the world, with the compiled script, serves the next call of its
//! thread too.

use std::sync::Arc;

use super::{Argument, Failure};

/// The `lua` item of a wire, which compiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Script {
    /// With as many empty lines before it as there are in the wire, so that lines agree. Its globals
    /// are its first argument.
    text: Arc<str>,
}

/// A script that does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScriptError {
    /// In the wire's text, from 1; 0 where it is not known.
    pub(crate) line: usize,
    pub(crate) why: String,
}

impl Script {
    /// A script whose text begins in this line of the wire, from 1.
    pub(crate) fn new(text: &str, line: usize) -> Result<Script, ScriptError> {
        begin_packet();
        let before = "\n".repeat(line.saturating_sub(1));
        let script = Script {
            text: format!("local _ENV = ...;{before}{text}").into(),
        };
        script.check()?;
        Ok(script)
    }
}

#[cfg(feature = "lua")]
pub(crate) use sandbox::begin_packet;

/// A packet begins: its scripts have taken no steps.
#[cfg(not(feature = "lua"))]
pub(crate) fn begin_packet() {}

#[cfg(not(feature = "lua"))]
impl Script {
    fn check(&self) -> Result<(), ScriptError> {
        Err(ScriptError {
            line: 0,
            why: "this netreel was built without Lua (the cargo feature `lua`)".to_owned(),
        })
    }

    /// Whether the script has a function of this name.
    pub(crate) fn has(&self, _: &str) -> bool {
        false
    }

    pub(super) fn call(
        &self,
        _: &str,
        _: &[u8],
        _: &[Argument],
        _: usize,
    ) -> Result<Vec<u8>, Failure> {
        Err(Failure::because("this netreel was built without Lua"))
    }

    pub(crate) fn integer(&self, _: &str, _: &[Argument]) -> Result<i64, Failure> {
        Err(Failure::because("this netreel was built without Lua"))
    }
}

#[cfg(feature = "lua")]
mod sandbox {
    use std::cell::{Cell, RefCell};
    use std::sync::Arc;

    use mlua::{Function, HookTriggers, Lua, LuaOptions, LuaString, StdLib, Table, Value, VmState};

    use super::{Argument, Failure, Script, ScriptError};

    /// How many steps of the Lua machine all calls of one packet may take together.
    const STEPS_MAX: u64 = 10_000_000;
    /// What a call counts before its first step: it makes a world.
    const CALL_STEPS: u64 = 20_000;
    /// How often they are counted.
    const STEPS_BETWEEN: u32 = 1000;
    /// How many bytes the Lua machine may take.
    const MEMORY_MAX: usize = 16 << 20;
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
    }

    impl Machine {
        fn new(text: &str) -> mlua::Result<Machine> {
            let libraries = StdLib::MATH | StdLib::STRING | StdLib::TABLE;
            let lua = Lua::new_with(libraries, LuaOptions::default())?;
            lua.set_memory_limit(MEMORY_MAX)?;
            replace(&lua)?;
            // The methods of texts are those of the world's `string`.
            let methods = lua.type_metatable::<LuaString>();
            let globals = lua.load(new_globals()).call((lua.globals(), methods))?;
            // Only text: a compiled chunk could do anything.
            let script = lua.load(text).set_name("=lua");
            let script = script.set_mode(mlua::chunk::ChunkMode::Text);
            Ok(Machine {
                globals,
                script: script.into_function()?,
                lua,
            })
        }

        /// The globals of a world in which the script has run once.
        fn world(&self) -> mlua::Result<Table> {
            let globals: Table = self.globals.call(())?;
            spend(CALL_STEPS, 0)?;
            let triggers = HookTriggers::new().every_nth_instruction(STEPS_BETWEEN);
            self.lua.set_hook(triggers, move |_, debug| {
                let line = debug.current_line().unwrap_or(0);
                spend(u64::from(STEPS_BETWEEN), line).map(|()| VmState::Continue)
            })?;
            self.script.call::<()>(&globals)?;
            Ok(globals)
        }
    }

    impl Script {
        pub(super) fn check(&self) -> Result<(), ScriptError> {
            let machine = Machine::new(&self.text);
            let world = machine.and_then(|machine| machine.world());
            world.map(|_| ()).map_err(|error| {
                let why = words(&error);
                match line_of(&why) {
                    Some((line, rest)) => ScriptError {
                        line,
                        why: rest.to_owned(),
                    },
                    None => ScriptError { line: 0, why },
                }
            })
        }

        /// Whether the script has a function of this name.
        pub(crate) fn has(&self, name: &str) -> bool {
            let found = Machine::new(&self.text)
                .and_then(|machine| machine.world()?.raw_get::<Value>(name));
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
                    match inner.len() <= max {
                        true => Ok(inner.to_vec()),
                        false => Err(Failure::TooLong { max }),
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

        /// A call that fails is made again in a machine of its own: whether it fails, and how, must
        /// not depend on what other calls left in this one's memory.
        fn with_result<R>(
            &self,
            name: &str,
            bytes: Option<&[u8]>,
            arguments: &[Argument],
            take: impl Fn(&Value) -> Result<R, Failure>,
        ) -> Result<R, Failure> {
            let spent = SPENT.get();
            if let Some(machine) = self.kept() {
                let result = call(&machine, name, bytes, arguments, &take);
                if result.is_ok() {
                    self.keep(machine);
                    return result;
                }
                SPENT.set(spent);
            }
            let machine = Machine::new(&self.text).map_err(|error| failed(name, &error))?;
            let result = call(&machine, name, bytes, arguments, &take)?;
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

    fn call<R>(
        machine: &Machine,
        name: &str,
        bytes: Option<&[u8]>,
        arguments: &[Argument],
        take: impl Fn(&Value) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let failed = |error| failed(name, &error);
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
                        .map_err(|_| Failure::because("an argument needs more than 64 bits"))?,
                ),
                Argument::Bytes(bytes) => text(bytes).map_err(failed)?,
            });
        }
        let function: Value = world.raw_get(name).map_err(failed)?;
        let Value::Function(function) = function else {
            return Err(Failure::because(format!("there is no function `{name}`")));
        };
        take(&function.call::<Value>(values).map_err(failed)?)
    }

    fn failed(name: &str, error: &mlua::Error) -> Failure {
        let why = words(error);
        Failure::Broken(match line_of(&why) {
            Some((line, why)) => format!("`{name}`, line {line}: {why}"),
            None => format!("`{name}`: {why}"),
        })
    }

    thread_local! {
        /// Steps that the scripts of this thread's packet have taken.
        static SPENT: Cell<u64> = const { Cell::new(0) };
        /// Machines that can serve another call, those of the last calls last.
        static MACHINES: RefCell<Vec<(Arc<str>, Machine)>> = const { RefCell::new(Vec::new()) };
    }

    /// A packet begins: its scripts have taken no steps.
    pub(crate) fn begin_packet() {
        SPENT.set(0);
    }

    fn spend(steps: u64, line: usize) -> mlua::Result<()> {
        SPENT.set(SPENT.get().saturating_add(steps));
        match SPENT.get() > STEPS_MAX {
            true => Err(mlua::Error::runtime(format!(
                "lua:{line}: more than the limit of {STEPS_MAX} steps"
            ))),
            false => Ok(()),
        }
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

    /// Puts our own in the place of two functions.
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
                Some(length) if length <= REPEAT_BYTES_MAX => lua.create_string(text.repeat(count)),
                _ => Err(mlua::Error::runtime(format!(
                    "`string.rep` makes at most {REPEAT_BYTES_MAX} bytes"
                ))),
            }
        })?;
        globals.raw_get::<Table>("string")?.raw_set("rep", repeat)
    }

    /// The first line of an error, without what leads to it.
    fn words(error: &mlua::Error) -> String {
        let message = match error {
            mlua::Error::SyntaxError { message, .. } | mlua::Error::RuntimeError(message) => {
                message.clone()
            }
            mlua::Error::MemoryError(_) => {
                format!("more than the limit of {MEMORY_MAX} bytes of memory")
            }
            mlua::Error::CallbackError { cause, .. } => return words(cause),
            other => other.to_string(),
        };
        message.lines().next().unwrap_or_default().to_owned()
    }

    /// `lua:12: why`
    fn line_of(words: &str) -> Option<(usize, &str)> {
        let (line, why) = words.strip_prefix("lua:")?.split_once(": ")?;
        Some((line.parse().ok()?, why))
    }
}

#[cfg(all(test, feature = "lua"))]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&[u8], &str>) {
        let script = Script::new(text, 1).expect("it compiles");
        let arguments = [
            Argument::Integer(-1),
            Argument::Bytes(Arc::new(vec![0xff, 0])),
        ];
        let called = script.call("f", &[1, 2, 0xfe], &arguments, 100);
        let called = called.map_err(|failure| failure.to_string());
        assert_eq!(called, expected.map(<[u8]>::to_vec).map_err(str::to_owned));
    }

    #[test]
    fn a_function_takes_bytes_and_gives_bytes() {
        check(
            "function f(bytes, number, more)\n\
             local out = {}\n\
             for i = 1, #bytes do out[i] = string.char((bytes:byte(i) + number) & 255) end\n\
             return table.concat(out) .. more\n\
             end",
            Ok(&[0, 1, 0xfd, 0xff, 0]),
        );
    }

    #[test]
    fn a_function_can_give_an_integer() {
        let text = "function f(text, number) return #text + number end function g() return 0.5 end";
        let script = Script::new(text, 1).expect("it compiles");
        let arguments = [
            Argument::Bytes(Arc::new(vec![b'x'; 3])),
            Argument::Integer(-5),
        ];
        assert_eq!(script.integer("f", &arguments), Ok(-2));
        let failure = script.integer("g", &[]).map_err(|why| why.to_string());
        assert_eq!(failure, Err("`g` gave number, not an integer".to_owned()));
    }

    #[test]
    fn errors_name_the_line() {
        check(
            "function f(bytes)\n  return bytes + {}\nend",
            Err("`f`, line 2: attempt to add a 'string' with a 'table'"),
        );
        check(
            "function f() return 5 end",
            Err("`f` gave integer, not a string"),
        );
        check("function g() end", Err("there is no function `f`"));
        check(
            "function f() return string.rep('x', 101) end",
            Err("more than the limit of 100 bytes come out"),
        );
        let error = Script::new("function f(\n  5)\nend", 40).expect_err("no parameter");
        assert_eq!(error.line, 41);
    }

    #[test]
    fn nothing_runs_for_ever() {
        check(
            "function f() while true do end end",
            Err("`f`, line 1: more than the limit of 10000000 steps"),
        );
        check(
            "function f() local t = {} while true do t[#t + 1] = string.rep('x', 1000) .. #t end end",
            Err("`f`: more than the limit of 16777216 bytes of memory"),
        );
        check("function f() return string.rep('', 1 << 60) end", Ok(&[]));
        let error = Script::new("while true do end", 1).expect_err("it does not end");
        assert_eq!(error.why, "more than the limit of 10000000 steps");
    }

    #[test]
    fn nothing_reaches_outside() {
        for name in [
            "io",
            "os",
            "require",
            "load",
            "loadstring",
            "loadfile",
            "dofile",
            "debug",
            "package",
            "coroutine",
            "pcall",
            "xpcall",
            "pairs",
            "next",
            "print",
            "collectgarbage",
            "setmetatable",
            "getmetatable",
            "rawget",
            "_G",
            "math.random",
            "math.randomseed",
            "string.dump",
            "string.find",
            "string.format",
            "string.gsub",
            "table.move",
        ] {
            let text = format!("function f() return type({name}) end");
            check(&text, Ok(b"nil"));
        }
        check("function f() return tostring({}) end", Ok(b"table"));
        check(
            "function f(bytes) return bytes:find('x') end",
            Err("`f`, line 1: attempt to call a nil value (method 'find')"),
        );
    }

    #[test]
    fn a_call_leaves_nothing_behind() {
        for text in [
            "n = 0 function f() n = n + 1 return tostring(n) end",
            "local n = 0 function f() n = n + 1 return tostring(n) end",
            "function f() n = (n or 0) + 1 return tostring(n) end",
            "function f() math.n = (math.n or 0) + 1 return tostring(math.n) end",
            "function f() string.n = (('').n or 0) + 1 return tostring(('').n) end",
            "function f() f = nil string.len = nil math = nil return tostring(1) end",
        ] {
            let script = Script::new(text, 1).expect("it compiles");
            for _ in 0..3 {
                assert_eq!(script.call("f", &[], &[], 10), Ok(b"1".to_vec()), "{text}");
            }
        }
    }

    #[test]
    fn a_call_that_fails_changes_no_other_one() {
        let text =
            "function f(bytes) if #bytes > 1 then error('long') end return bytes .. bytes end";
        let script = Script::new(text, 1).expect("it compiles");
        for _ in 0..2 {
            assert_eq!(script.call("f", b"a", &[], 10), Ok(b"aa".to_vec()));
            let failure = script
                .call("f", b"ab", &[], 10)
                .map_err(|why| why.to_string());
            assert_eq!(failure, Err("`f`, line 1: long".to_owned()));
        }
    }
}
