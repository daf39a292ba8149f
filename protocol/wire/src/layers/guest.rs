//! Lua that asks instead of being called with bytes: a team's own rules.
//!
//! A file is run once, in a world of its own with nothing in it that scripts of a wire lack, and says
//! which rules and tests it has. A rule is then called once, and pulls what it wants to see. Its steps, and
//! their time where they are slow, are counted as for other scripts; each thing that it pulls allows it
//! more, and what is done to find that thing is not counted. Unlike theirs, its memory is that of what it
//! still holds: what it no longer uses is collected.

use mlua::{Function, HookTriggers, Lua, LuaOptions, StdLib, Table, Value};
use serde_json::{Map, Value as Json};

use super::sandbox::{BYTES_A_STEP, MEMORY_MAX, STEPS_BETWEEN, count, is_not_deep, told, worlds};
use super::steps::{Pace, allow, aside, begin, spend};

/// What a rule asks, and who is told what it found.
pub trait Host {
    /// Begins a row of things that fit a filter; its number.
    ///
    /// # Errors
    /// Why there is none, in words.
    fn open(&mut self, what: &str, filter: &str) -> Result<usize, String>;

    /// The next of a row.
    ///
    /// # Errors
    /// There is no such row, in words.
    fn next(&mut self, row: usize) -> Result<Option<Json>, String>;

    /// Takes what was found.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    fn found(&mut self, finding: Json) -> Result<(), String>;
}

/// What a rule can ask for.
pub const ROWS: [&str; 4] = ["packets", "messages", "objects", "links"];

/// Rules, and the tests that stand beside them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFile {
    text: String,
    /// The ids of the rules, in the order of the file. They live as long as the program, as those of
    /// the rules that are built in.
    pub rules: Vec<&'static str>,
    /// The names of the tests, in the order of the file.
    pub tests: Vec<String>,
}

/// Why rules cannot be read, or one cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// The line of the file, from 1, where it is known.
    pub line: Option<usize>,
    /// In words.
    pub why: String,
}

impl std::fmt::Display for RuleError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl std::error::Error for RuleError {}

/// How many steps a rule may take before it has pulled anything, and for each thing that it pulls.
const STEPS: u64 = 10_000_000;
const STEPS_A_THING: u64 = 2_000;
/// What a value counts that is made for a rule or told by it: it takes the time of some steps. It allows
/// as many.
const VALUE_STEPS: u64 = 10;
/// What a row costs before its first thing.
const ROW_STEPS: u64 = 100_000;
/// A file has no more rules, and no more tests.
const RULES_MAX: usize = 64;
/// An id is no longer.
const ID_MAX: usize = 64;
/// What was found is no deeper, and has no more entries.
const FOUND_DEPTH_MAX: usize = 8;
const FOUND_ENTRIES_MAX: usize = 1000;

/// What a file sees besides the functions of any script.
const PRELUDE: &str = r##"
local world, rows, open, pull, found = ...
local rules, tests, ids, names = {}, {}, {}, {}
local given, kept
local function each(things)
    local at = 0
    return function() at = at + 1 return things[at] end
end
-- The finding with the numbers of its packets alone, in the place of all that was pulled of them.
local function told(finding)
    local copy = {}
    for name, value in pairs(finding) do copy[name] = value end
    local packets = copy.packets
    if type(packets) ~= "table" then return copy end
    if packets.packet ~= nil then packets = { packets } end
    copy.packets = {}
    for place = 1, #packets do
        local thing = packets[place]
        copy.packets[place] = type(thing) == "table" and thing.packet or thing
        if type(copy.packets[place]) ~= "number" then
            error("report: packets are numbers of packets, or what was pulled of them", 3)
        end
    end
    if #packets == 0 then
        if next(packets) ~= nil then error("report: packets have places, not names", 3) end
        copy.packets = nil
    end
    return copy
end
for _, what in ipairs(rows) do
    world[what] = function(filter)
        if filter ~= nil and type(filter) ~= "string" then
            error(what .. ": a filter is a text", 2)
        end
        if given then return each(given[what] or {}) end
        local row = open(what, filter or "")
        return function() return pull(row) end
    end
end
function world.report(finding)
    if type(finding) ~= "table" then error("report: a finding is a table", 2) end
    if given then kept[#kept + 1] = finding else found(told(finding)) end
end
function world.rule(id, look)
    if type(id) ~= "string" or type(look) ~= "function" then
        error("rule: an id and a function", 2)
    end
    if rules[id] then error("rule: there are two called " .. id, 2) end
    rules[id] = look
    ids[#ids + 1] = id
end
function world.test(name, id, things, look)
    if type(name) ~= "string" or type(id) ~= "string" or type(things) ~= "table"
        or type(look) ~= "function" then
        error("test: a name, the id of a rule, what it sees, and a function of what it found", 2)
    end
    names[#names + 1] = name
    tests[name] = function()
        if not rules[id] then error("there is no rule " .. id) end
        given, kept = things, {}
        rules[id]()
        look(kept)
    end
end
return ids, names, rules, tests
"##;

/// A file that was run.
struct Guest<'a> {
    lua: &'a Lua,
    ids: Vec<String>,
    names: Vec<String>,
    rules: Table,
    tests: Table,
}

impl RuleFile {
    /// Reads a file of rules.
    ///
    /// # Errors
    /// It is no Lua, takes too much, or has no rules that could be called.
    pub fn new(text: &str) -> Result<RuleFile, RuleError> {
        let file = RuleFile {
            text: format!("local _ENV = ...;{text}"),
            rules: Vec::new(),
            tests: Vec::new(),
        };
        let (rules, tests): (Vec<String>, _) = file.with(&mut Nothing, |guest| {
            Ok((guest.ids.clone(), guest.names.clone()))
        })?;
        let refuse = |why: String| Err(RuleError { line: None, why });
        if rules.is_empty() {
            return refuse("it has no rule: `rule(\"an-id\", function() ... end)`".to_owned());
        }
        if rules.len() > RULES_MAX || tests.len() > RULES_MAX {
            return refuse(format!("it has more than {RULES_MAX} rules or tests"));
        }
        let is_fit = |at: char| at.is_ascii_lowercase() || at.is_ascii_digit() || at == '-';
        let is_id = |id: &String| (1..=ID_MAX).contains(&id.len()) && id.chars().all(is_fit);
        if let Some(id) = rules.iter().find(|id| !is_id(id)) {
            return refuse(format!(
                "{id:?} is no id of a rule: small letters, digits and `-`, at most {ID_MAX}"
            ));
        }
        let lasting = |id: String| -> &'static str { Box::leak(id.into_boxed_str()) };
        Ok(RuleFile {
            rules: rules.into_iter().map(lasting).collect(),
            tests,
            ..file
        })
    }

    /// Asks a rule.
    ///
    /// # Errors
    /// It fails, or takes more than it may.
    pub fn ask(&self, rule: &str, host: &mut dyn Host) -> Result<(), RuleError> {
        self.with(host, |guest| {
            let look: Function = guest.rules.raw_get(rule)?;
            look.call::<()>(())
        })
    }

    /// Runs a test.
    ///
    /// # Errors
    /// It fails.
    pub fn test(&self, name: &str) -> Result<(), RuleError> {
        self.with(&mut Nothing, |guest| {
            let test: Function = guest.tests.raw_get(name)?;
            test.call::<()>(())
        })
    }

    /// Runs the file anew, and does something with it.
    fn with<R>(
        &self,
        host: &mut dyn Host,
        work: impl FnOnce(&Guest<'_>) -> mlua::Result<R>,
    ) -> Result<R, RuleError> {
        begin(STEPS);
        let libraries = StdLib::MATH | StdLib::STRING | StdLib::TABLE;
        let done = Lua::new_with(libraries, LuaOptions::default()).and_then(|lua| {
            let host = std::cell::RefCell::new(host);
            lua.scope(|scope| {
                let open = scope.create_function(|_, (what, filter): (String, String)| {
                    spend(ROW_STEPS, 0)?;
                    let row = aside(|| host.borrow_mut().open(&what, &filter));
                    row.map_err(mlua::Error::runtime)
                })?;
                let pull = scope.create_function(|lua, row: usize| {
                    let next = aside(|| host.borrow_mut().next(row));
                    match next.map_err(mlua::Error::runtime)? {
                        Some(thing) => {
                            allow(STEPS_A_THING);
                            to_lua(lua, &thing)
                        }
                        None => Ok(Value::Nil),
                    }
                })?;
                let found = scope.create_function(|_, finding: Value| {
                    let mut room = FOUND_ENTRIES_MAX;
                    let finding = to_json(&finding, FOUND_DEPTH_MAX, &mut room)?;
                    let taken = aside(|| host.borrow_mut().found(finding));
                    taken.map_err(mlua::Error::runtime)
                })?;
                work(&guest(&lua, &self.text, (open, pull, found))?)
            })
        });
        done.map_err(|error| {
            let (line, why) = told(&error);
            RuleError { line, why }
        })
    }
}

/// A new world in which the file has run.
fn guest<'a>(
    lua: &'a Lua,
    text: &str,
    asking: (Function, Function, Function),
) -> mlua::Result<Guest<'a>> {
    let world: Table = worlds(lua)?.call(())?;
    let (open, pull, found) = asking;
    let rows = lua.create_sequence_from(ROWS)?;
    let prelude = lua.load(PRELUDE).set_name("=prelude");
    let (ids, names, rules, tests): (Table, Table, Table, Table) =
        prelude.call((world.clone(), rows, open, pull, found))?;
    lua.set_memory_limit(lua.used_memory() + MEMORY_MAX)?;
    Pace::begin();
    let triggers = HookTriggers::new().every_nth_instruction(STEPS_BETWEEN);
    lua.set_hook(triggers, |lua, debug| {
        let line = count(debug)?;
        is_not_deep(lua, line)
    })?;
    // Only text: a compiled chunk could do anything.
    let file = lua.load(text).set_name("=lua");
    file.set_mode(mlua::chunk::ChunkMode::Text)
        .call::<()>(world)?;
    let texts = |of: Table| {
        of.sequence_values::<String>()
            .collect::<mlua::Result<Vec<_>>>()
    };
    Ok(Guest {
        lua,
        ids: texts(ids)?,
        names: texts(names)?,
        rules,
        tests,
    })
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        self.lua.remove_hook();
    }
}

/// Sees nothing: for tests, which bring what they see.
struct Nothing;

impl Host for Nothing {
    fn open(&mut self, what: &str, _: &str) -> Result<usize, String> {
        Err(format!(
            "`{what}` can be asked by a rule only, when it is called"
        ))
    }

    fn next(&mut self, _: usize) -> Result<Option<Json>, String> {
        Ok(None)
    }

    fn found(&mut self, _: Json) -> Result<(), String> {
        Err("`report` can be called by a rule only".to_owned())
    }
}

/// A value is made for a rule, or was told by it.
fn count_value() -> mlua::Result<()> {
    allow(VALUE_STEPS);
    spend(VALUE_STEPS, 0)
}

/// Integers of 2^63 and above have the same bits as negative ones.
fn to_lua(lua: &Lua, json: &Json) -> mlua::Result<Value> {
    count_value()?;
    Ok(match json {
        Json::Null => Value::Nil,
        Json::Bool(value) => Value::Boolean(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(integer), _) => Value::Integer(integer),
            (None, Some(integer)) => Value::Integer(integer.cast_signed()),
            (None, None) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::String(lua.create_string(text)?),
        Json::Array(all) => {
            let table = lua.create_table()?;
            for each in all {
                table.raw_push(to_lua(lua, each)?)?;
            }
            Value::Table(table)
        }
        Json::Object(all) => {
            let table = lua.create_table()?;
            for (name, value) in all {
                table.raw_set(name.as_str(), to_lua(lua, value)?)?;
            }
            Value::Table(table)
        }
    })
}

fn to_json(value: &Value, depth: usize, room: &mut usize) -> mlua::Result<Json> {
    let refuse = |why: &str| Err(mlua::Error::runtime(format!("report: {why}")));
    count_value()?;
    Ok(match value {
        Value::Nil => Json::Null,
        Value::Boolean(value) => Json::Bool(*value),
        Value::Integer(value) => Json::from(*value),
        Value::Number(value) => Json::from(*value),
        Value::String(text) => {
            spend(text.as_bytes().len() as u64 / BYTES_A_STEP, 0)?;
            Json::String(text.to_string_lossy())
        }
        Value::Table(table) => {
            let Some(depth) = depth.checked_sub(1) else {
                return refuse("tables stand too deep in each other");
            };
            let length = table.raw_len();
            let mut take = |value: &Value| {
                *room = match room.checked_sub(1) {
                    Some(room) => room,
                    None => return refuse("it has too many entries"),
                };
                to_json(value, depth, room)
            };
            if length > 0 {
                let mut all = Vec::new();
                for place in 1..=length {
                    all.push(take(&table.raw_get(place)?)?);
                }
                return Ok(Json::Array(all));
            }
            let mut all = Map::new();
            for pair in table.pairs::<String, Value>() {
                let (name, value) = pair?;
                all.insert(name, take(&value)?);
            }
            Json::Object(all)
        }
        other => return refuse(&format!("a {} cannot be told", other.type_name())),
    })
}

#[cfg(test)]
mod tests {
    use super::super::steps::{begin_packet, counted, work_for};
    use super::*;

    /// Has this many packets of these numbers, and keeps what is found.
    #[derive(Default)]
    struct Few {
        packets: u64,
        given: u64,
        found: Vec<Json>,
    }

    impl Host for Few {
        fn open(&mut self, what: &str, filter: &str) -> Result<usize, String> {
            // What decodes a packet begins its scripts.
            begin_packet(0);
            match filter {
                "" => Ok(what.len()),
                "slow" => {
                    work_for(600_000_000);
                    Ok(what.len())
                }
                filter => Err(format!("no filter {filter}")),
            }
        }

        fn next(&mut self, _: usize) -> Result<Option<Json>, String> {
            self.given += 1;
            begin_packet(0);
            Ok((self.given <= self.packets).then(|| serde_json::json!({ "packet": self.given })))
        }

        fn found(&mut self, finding: Json) -> Result<(), String> {
            self.found.push(finding);
            Ok(())
        }
    }

    /// What the rule `r` of a file finds among three packets.
    #[track_caller]
    fn check(body: &str, expected: Result<Json, &str>) {
        let text = format!("rule('r', function()\n{body}\nend)");
        let file = RuleFile::new(&text).expect("it compiles");
        let mut host = Few {
            packets: 3,
            ..Few::default()
        };
        let asked = file.ask("r", &mut host).map_err(|error| error.to_string());
        let found = asked.map(|()| Json::from(host.found));
        assert_eq!(found, expected.map_err(str::to_owned), "{body}");
    }

    #[test]
    fn a_rule_pulls_what_there_is_and_tells_what_it_found() {
        check(
            "local sum = 0 for it in packets() do sum = sum + it.packet end report { sum = sum }",
            Ok(serde_json::json!([{ "sum": 6 }])),
        );
    }

    #[test]
    fn what_takes_too_much_ends_with_a_sentence() {
        check(
            "while true do end",
            Err("line 2: more than the limit of 10000000 steps"),
        );
        check(
            "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(100000) .. i end",
            Err("more than the limit of 33554432 bytes of memory"),
        );
        check(
            "local function f() return f() .. '' end f()",
            Err("line 2: calls stand deeper in each other than the limit of 200"),
        );
    }

    #[test]
    fn what_is_done_to_find_things_changes_nothing_of_what_a_rule_may_take() {
        let spin = "for i = 1, 2000000 do end report { 1 }";
        let told = || Ok(serde_json::json!([[1]]));
        check(&format!("for it in packets() do end {spin}"), told());
        check(&format!("packets() {spin}"), told());
        check(&format!("packets('slow') {spin}"), told());
        check(
            "while true do for it in packets() do end end",
            Err("more than the limit of 10006060 steps"),
        );
    }

    #[test]
    fn steps_that_take_long_count_by_their_time() {
        let before = counted();
        check(
            "local half = ('x'):rep(500000)
             local a, b = half .. half, half .. half
             while true do local x = a == b end",
            Err("line 4: more than the limit of 10000000 steps"),
        );
        let counted = counted() - before;
        assert!(counted < 500_000, "{counted} steps of the machine");
    }

    #[test]
    fn packets_are_told_by_their_numbers_alone() {
        let told = |packets: &str, expected: Json| {
            check(
                &format!("local it = packets()() report {{ packets = {packets} }}"),
                Ok(serde_json::json!([expected])),
            );
        };
        told("it", serde_json::json!({ "packets": [1] }));
        told("{ it, 7, it }", serde_json::json!({ "packets": [1, 7, 1] }));
        told("7", serde_json::json!({ "packets": 7 }));
        told("{}", serde_json::json!({}));
        let many = "(function() local all = {} for i = 1, 900 do
            all[i] = { packet = i, from = 'A', to = 'B' } end return all end)()";
        told(
            many,
            serde_json::json!({ "packets": (1..=900).collect::<Vec<_>>() }),
        );
        let numbers =
            Err("line 2: report: packets are numbers of packets, or what was pulled of them");
        check("report { packets = { {} } }", numbers.clone());
        check("report { packets = { nil, 1 } }", numbers);
        let places = Err("line 2: report: packets have places, not names");
        check("report { packets = { first = 1 } }", places);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        check("\nerror('why')", Err("line 3: why"));
        check("packets('x')", Err("no filter x"));
        check("report(1)", Err("line 2: report: a finding is a table"));
        check(
            "return io.open",
            Err("line 2: attempt to index a nil value (global 'io')"),
        );
    }

    #[test]
    fn tests_bring_what_a_rule_sees() {
        let text =
            "rule('r', function() for it in packets() do report { packet = it.packet } end end)
            test('one', 'r', { packets = { { packet = 7 } } }, function(found)
                assert(#found == 1 and found[1].packet == 7)
            end)
            test('none', 'r', {}, function(found) assert(#found == 1, 'not one') end)";
        let file = RuleFile::new(text).expect("it compiles");
        assert_eq!(file.tests, ["one", "none"]);
        assert_eq!(file.test("one"), Ok(()));
        let failed = file.test("none").expect_err("there is none");
        assert_eq!(failed.why, "not one");
    }

    #[test]
    fn what_has_no_rules_is_refused() {
        let refused = |text: &str| RuleFile::new(text).expect_err(text).to_string();
        assert!(refused("").contains("it has no rule"));
        assert!(refused("rule('A b', function() end)").contains("is no id"));
        assert!(refused("rule('a', function() end) rule('a', function() end)").contains("two"));
        assert_eq!(refused("rule("), "line 1: unexpected symbol near <eof>");
        assert!(refused("for it in packets() do end").contains("by a rule only"));
        assert!(refused("while true do end").contains("steps"));
    }
}
