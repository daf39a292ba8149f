//! Layers in Lua: functions of bytes, in a sandbox.
//!
//! A call sees a fresh world, so that no packet can leave anything for the next one: new globals, in
//! which the whole script runs again. What is in it is named in `sandbox.rs`: nothing reads
//! a file, a clock or a random number, and nothing runs for longer than its input and the limits
//! allow. The Lua machine around the world, with the compiled script, serves the next call of its
//! thread too.

use std::sync::Arc;

#[cfg(not(feature = "lua"))]
use super::argument::{Argument, Failure};

/// The `lua` item of a wire, which compiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Script {
    /// With as many empty lines before it as there are in the wire, so that lines agree. Its globals
    /// are its first argument.
    pub text: Arc<str>,
}

/// A script that does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScriptError {
    /// In the wire's text, from 1; 0 where it is not known.
    pub line: usize,
    pub why: String,
}

impl Script {
    /// A script whose text begins in this line of the wire, from 1.
    pub(crate) fn new(text: &str, line: usize) -> Result<Script, ScriptError> {
        begin_packet(0);
        let before = "\n".repeat(line.saturating_sub(1));
        let script = Script {
            text: format!("local _ENV = ...;{before}{text}").into(),
        };
        script.check()?;
        Ok(script)
    }
}

#[cfg(feature = "lua")]
pub(crate) use super::steps::{begin_packet, slow, steps};

/// A packet of this many bytes begins: its scripts have taken no steps.
#[cfg(not(feature = "lua"))]
pub(crate) fn begin_packet(_: usize) {}

/// How many steps the scripts of this thread's packet have taken.
#[cfg(not(feature = "lua"))]
pub(crate) fn steps() -> u64 {
    0
}

/// What they count besides among all packets of a file, because they took long.
#[cfg(not(feature = "lua"))]
pub(crate) fn slow() -> u64 {
    0
}

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
#[cfg(test)]
mod tests {
    use super::super::Argument;
    use super::super::steps::{counted, steps};
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&[u8], &str>) {
        let script = Script::new(text, 1).expect("it compiles");
        let arguments = [
            Argument::Integer(-1),
            Argument::Bytes(Arc::new(vec![0xff, 0])),
        ];
        let called = script
            .call("f", &[1, 2, 0xfe], &arguments, 100)
            .map_err(|failure| failure.to_string());
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
            Err("`f`, line 1: more than the limit of 1000000 steps"),
        );
        check(
            "function f() local t, x = {}, string.rep('x', 1000) while true do t[#t + 1] = x .. #t end end",
            Err("`f`: more than the limit of 33554432 bytes of memory"),
        );
        check("function f() return string.rep('', 1 << 60) end", Ok(&[]));
        let error = Script::new("while true do end", 1).expect_err("it does not end");
        assert_eq!(error.why, "more than the limit of 1000000 steps");
    }

    #[test]
    fn what_works_through_much_at_once_counts_by_its_bytes() {
        let steps = "`f`: more than the limit of 1000000 steps";
        let memory = "`f`: more than the limit of 33554432 bytes of memory";
        for (body, expected) in [
            ("s:reverse()", steps),
            ("s:byte(1, -1, 5)", steps),
            ("string.rep(s, 1)", steps),
            ("tonumber(s)", steps),
            ("select('#', table.unpack(t, 1, 100000))", steps),
            ("table.concat(t)", steps),
            ("table.insert(t, 1, 'x')", steps),
            ("s .. 'x'", memory),
            ("s:sub(2)", memory),
            ("string.pack('z', s)", memory),
        ] {
            let text = format!(
                "function f()
                 local s, t = string.rep(' ', 100000), {{}}
                 for i = 1, 3000 do t[i] = '' end
                 while true do local x = {body} end
                 end"
            );
            let script = Script::new(&text, 1).expect("it compiles");
            begin_packet(0);
            let failure = script.call("f", &[], &[], 100).map_err(|it| it.to_string());
            assert_eq!(failure, Err(expected.to_owned()), "{body}");
        }
        check(
            "function f(n) return f(n) .. '' end",
            Err("`f`, line 1: calls stand deeper in each other than the limit of 200"),
        );
        check(
            "function f() return string.reverse({}) end",
            Err("`f`: bad argument #1 to 'reverse' (string expected, got table)"),
        );
    }

    #[test]
    fn a_place_of_a_table_counts_as_a_step() {
        let text = "function f()
            local t = {} for i = 1, 900 do t[i] = '' end
            for _ = 1, 100 do local x = table.concat(t) end
            return '' end";
        let script = Script::new(text, 1).expect("it compiles");
        begin_packet(0);
        script.call("f", &[], &[], 10).expect("few steps");
        assert!((90_000..130_000).contains(&steps()), "{}", steps());
    }

    /// Each of these is one step to the machine, however long the texts are.
    #[test]
    fn operators_on_long_texts_count_by_the_time_that_they_take() {
        for body in [
            "a == b",
            "a ~= b",
            "a <= b",
            "a > b",
            "t[a]",
            "n + 1",
            "math.abs(n)",
            "string.char(n)",
            "('x'):sub(n)",
        ] {
            let text = format!(
                "function f(bytes)
                     local half = string.rep('x', 200000)
                     local a, b = half .. half, half .. half
                     local n = string.rep(' ', 400000) .. '1'
                     local t = {{ [b] = 1 }}
                     while true do local x = {body} end
                 end"
            );
            let script = Script::new(&text, 1).expect("it compiles");
            begin_packet(0);
            let before = counted();
            let failure = script.call("f", &[], &[], 100).map_err(|it| it.to_string());
            let why = failure.expect_err("it does not end");
            assert!(
                why.contains("more than the limit of 1000000 steps"),
                "{why}"
            );
            let counted = counted() - before;
            assert!(counted < 500_000, "{body}: {counted} steps of the machine");
        }
    }

    #[test]
    fn steps_are_the_same_in_a_machine_that_served_before() {
        let text = "function f(bytes) local t = {}
            for i = 1, 20000 do t[i] = bytes .. i end return #t .. '' end";
        let script = Script::new(text, 1).expect("it compiles");
        let taken: Vec<u64> = (0..4)
            .map(|_| {
                begin_packet(0);
                script.call("f", b"ab", &[], 10).expect("few steps");
                steps()
            })
            .collect();
        assert_eq!(taken, [taken[0]; 4]);
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
