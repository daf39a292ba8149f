//! The script of a scenario: Lua, with what a match can do.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use mlua::{
    FromLua, FromLuaMulti, Function, HookTriggers, IntoLua, IntoLuaMulti, Lua, MultiValue, Scope,
    Table, Value, Variadic, VmState,
};
use netreel_system::Cancel;

use crate::chunk::{GUARD, chunk, says_errors, told};
use crate::faults;
use crate::judged::Expected;
use crate::stage::{Stage, is_over};
use crate::undo::Doings;
use crate::waits::LOOK;

/// A node that is waited for and does not answer is asked again after so long.
const ASKED_AGAIN: Duration = Duration::from_secs(1);

/// So many steps of the script lie between two looks at whether the match is over.
const STEPS_BETWEEN: u32 = 10_000;

/// Runs the script of a match.
///
/// # Errors
/// Why it did not come to its end, with file and line.
pub(crate) fn run(stage: &mut Stage<'_>) -> Result<(), String> {
    let script = &stage.scenario.script;
    let lua = Lua::new();
    // A script that only counts ends as well.
    let (until, cancel, is_done) = (
        stage.until(),
        stage.wants.asked.cancel.clone(),
        Cancel::default(),
    );
    let doing = is_done.clone();
    let triggers = HookTriggers::new().every_nth_instruction(STEPS_BETWEEN);
    let hooked = lua.set_global_hook(triggers, move |_, _| {
        let is_cancelled = doing.goes_on() && !cancel.goes_on();
        if is_cancelled || is_over(&until) {
            Err(mlua::Error::runtime("the match is over"))
        } else {
            Ok(VmState::Continue)
        }
    });
    hooked.map_err(|error| told(&error))?;
    let shared = RefCell::new(stage);
    let doings = Doings::default();
    let ran = lua.scope(|scope| {
        let guarded: Function = lua.load(GUARD).set_name("=guard").eval()?;
        says_errors(&lua)?;
        let globals = Globals {
            own: lua.globals(),
            scope,
            stage: &shared,
            doings: &doings,
        };
        globals.all(&lua)?;
        let ran = guarded.call::<()>(chunk(&lua, script).into_function()?);
        is_done.cancel();
        let until = with(&shared, |stage| Ok(stage.begin_undoing()))?;
        let ended = doings.end();
        with(&shared, |stage| {
            stage.end_undoing(until);
            Ok(())
        })?;
        ran.and(ended)
    });
    ran.map_err(|error| told(&error))
}

/// Where the functions of a script find the match.
type Shared<'s, 'a> = RefCell<&'s mut Stage<'a>>;

/// What is done with one node.
type Act = fn(&mut Stage<'_>, &str) -> Result<(), String>;

/// What is said to one node, and what it answers.
type Spoken = fn(&mut Stage<'_>, &str, &str) -> Result<String, String>;

/// Does something with the match on behalf of a script.
fn with<T>(
    stage: &Shared<'_, '_>,
    act: impl FnOnce(&mut Stage<'_>) -> Result<T, String>,
) -> mlua::Result<T> {
    let mut stage = stage.try_borrow_mut().map_err(mlua::Error::external)?;
    act(&mut stage).map_err(mlua::Error::RuntimeError)
}

/// The globals of a script, and what their functions work on.
struct Globals<'s, 'e, 'm, 'a> {
    own: Table,
    scope: &'s Scope<'s, 'e>,
    stage: &'s Shared<'m, 'a>,
    doings: &'s Doings,
}

impl<'s> Globals<'s, '_, '_, '_> {
    fn all(&self, lua: &Lua) -> mlua::Result<()> {
        facts(lua, &self.own, &self.stage.borrow())?;
        self.naming()?;
        self.living()?;
        self.speaking()?;
        self.waiting()?;
        self.faulting()?;
        self.undoing()?;
        self.telling()?;
        self.expectations()?;
        self.expectations_at_the_end()
    }

    /// A function that the script may call.
    fn calls<A: FromLuaMulti, R: IntoLuaMulti>(
        &self,
        called: &str,
        act: impl Fn(&Lua, A) -> mlua::Result<R> + 's,
    ) -> mlua::Result<()> {
        self.own.set(called, self.scope.create_function(act)?)
    }

    /// A function that does something with the match.
    fn does<A: FromLuaMulti, R: IntoLuaMulti>(
        &self,
        called: &str,
        act: impl Fn(&mut Stage<'_>, A) -> Result<R, String> + 's,
    ) -> mlua::Result<()> {
        let stage = self.stage;
        self.calls(called, move |_, given: A| {
            with(stage, |stage| act(stage, given))
        })
    }

    /// `with_role(ROLE)`, `port(NAME)`, and `secret(NAME)`.
    fn naming(&self) -> mlua::Result<()> {
        let stage = self.stage;
        self.calls("with_role", move |lua, role: String| {
            let stage = stage.borrow();
            let nodes = stage.scenario.nodes.iter();
            let names = nodes.filter(|node| node.role == role);
            lua.create_sequence_from(names.map(|node| node.name.as_str()))
        })?;
        self.does("port", |stage, name: String| stage.port(&name))?;
        self.does("secret", |stage, name: String| stage.secret(&name))
    }

    /// `start(NODES...)`, `kill(NODES)`, `stop(NODES)`, `restart(NODES)`, and `lives(NODE)`.
    fn living(&self) -> mlua::Result<()> {
        let (stage, doings) = (self.stage, self.doings);
        self.does("start", move |stage, names: Variadic<String>| {
            let all = stage.scenario.nodes.iter().map(|node| node.name.clone());
            let names: Vec<String> = if names.is_empty() {
                all.collect()
            } else {
                names.to_vec()
            };
            stage.start(&names)?;
            Ok(doings.started(&names))
        })?;
        let single: [(&str, Act); 3] = [
            ("kill", |stage, name| stage.kill(name)),
            ("stop", |stage, name| stage.stop(name)),
            ("restart", |stage, name| {
                if stage.lives(name)? {
                    stage.kill(name)?;
                }
                stage.start(&[name.to_owned()])
            }),
        ];
        for (called, act) in single {
            self.calls(called, move |_, who: Who| {
                let mut names = who.names.iter();
                names.try_for_each(|name| with(stage, |stage| act(stage, name)))?;
                // What was restarted is as it was.
                Ok((called != "restart").then(|| doings.ended(&who.names)))
            })?;
        }
        self.does("lives", |stage, name: String| stage.lives(&name))
    }

    /// `say(NODES, LINE)`, `ask(NODES, LINE)`, `script(NODES, TEXT)`, and `log(NODE)`.
    fn speaking(&self) -> mlua::Result<()> {
        let stage = self.stage;
        let spoken: [(&str, Spoken); 3] = [
            ("say", |stage, name, line| stage.say(name, line)),
            ("ask", |stage, name, line| {
                stage.ask(name, line, stage.patience())
            }),
            ("script", |stage, name, text| stage.script(name, text)),
        ];
        for (called, speak) in spoken {
            self.calls(called, move |lua, (who, text): (Who, String)| {
                who.each(lua, |name| with(stage, |stage| speak(stage, name, &text)))
            })?;
        }
        self.does("log", |stage, name: String| stage.log(&name))
    }

    /// `wait(SECONDS, ...)`, `wait_log(SECONDS, NODES, TEXT)`, and `sleep(SECONDS)`.
    fn waiting(&self) -> mlua::Result<()> {
        let stage = self.stage;
        self.calls("wait", move |_, (seconds, awaited): (f64, MultiValue)| {
            wait(stage, seconds, &awaited.into_vec())
        })?;
        self.does(
            "wait_log",
            |stage, (seconds, who, text): (f64, Who, String)| {
                let what = format!("wait for {text:?} in what {} prints", who.names.join(", "));
                stage.wait_until(seconds, &what, &mut |stage| {
                    let mut logs = who.names.iter().map(|name| stage.log(name));
                    logs.try_fold(true, |so, log| Ok(so && log?.contains(&text)))
                })
            },
        )?;
        self.calls("sleep", move |_, seconds: f64| {
            let until = Instant::now() + length(seconds)?;
            loop {
                with(stage, |stage| stage.go_on())?;
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Ok(());
                }
                std::thread::sleep(left.min(LOOK));
            }
        })
    }

    /// `faults(FROM, TO, {...})`, and `faults(LINK, {...})`.
    fn faulting(&self) -> mlua::Result<()> {
        let doings = self.doings;
        self.does("faults", move |stage, told: MultiValue| {
            let told = told.into_vec();
            let (from, to, faults) = match told.as_slice() {
                [Value::String(from), Value::String(to), faults @ ..] => (Some(from), to, faults),
                [Value::String(link), faults @ ..] => (None, link, faults),
                _ => return Err("write faults(FROM, TO, {...}) or faults(LINK, {...})".to_owned()),
            };
            let words = faults::words(faults.first())?;
            let (from, to) = (from.map(|it| it.to_string_lossy()), to.to_string_lossy());
            stage.faults(from.as_deref(), &to, &words)?;
            Ok(doings.faults(from.as_deref(), &to, &words))
        })
    }

    /// `note(TEXT)`, and `print(...)`.
    fn telling(&self) -> mlua::Result<()> {
        let stage = self.stage;
        self.does("note", |stage, text: String| {
            stage.note(&text);
            Ok(())
        })?;
        self.calls("print", move |_, values: Variadic<Value>| {
            let texts = values.iter().map(Value::to_string);
            let line = texts.collect::<mlua::Result<Vec<String>>>()?.join("\t");
            with(stage, |stage| {
                (stage.wants.tell)(&line);
                Ok(())
            })
        })
    }

    /// `undo(NUMBER)`, `undo()`, and `undoes(FUNCTION, WHAT)`.
    fn undoing(&self) -> mlua::Result<()> {
        let (stage, doings) = (self.stage, self.doings);
        self.calls("undo", move |_, number: Option<usize>| {
            doings.undo(number, &|act| with(stage, |stage| act(stage)))
        })?;
        self.calls(
            "undoes",
            move |_, (undoes, what): (Function, Option<String>)| {
                let what = what.unwrap_or_else(|| "what the script did".to_owned());
                Ok(doings.told(undoes, what))
            },
        )
    }

    /// `expect(VALUE, WHAT)`, and `expect_log(NODES, TEXT)`: what is so at once, or the match has failed.
    fn expectations(&self) -> mlua::Result<()> {
        self.does("expect", |stage, (is_so, what): (Value, Option<String>)| {
            let is_so = !matches!(is_so, Value::Nil | Value::Boolean(false));
            let what = what.unwrap_or_else(|| "what the script expects".to_owned());
            let so = if is_so { "so" } else { "not so" };
            stage.note(&format!("expect {what}: {so}"));
            stage.is_missed |= !is_so;
            is_so
                .then_some(())
                .ok_or_else(|| format!("expected: {what}"))
        })?;
        self.does("expect_log", |stage, (who, text): (Who, String)| {
            who.names.iter().try_for_each(|name| {
                let is_so = stage.log(name)?.contains(&text);
                stage.is_missed |= !is_so;
                let why = || format!("expected: node {name} prints {text:?}");
                is_so.then_some(()).ok_or_else(why)
            })
        })
    }

    /// `expect_finding(RULE, NODE)`, `expect_no_finding(WHAT)`, and `expect_state(NODE, OBJECT, {...})`: what
    /// the recordings say at the end.
    fn expectations_at_the_end(&self) -> mlua::Result<()> {
        let stage = self.stage;
        self.does(
            "expect_finding",
            |stage, (rule, node): (String, Option<String>)| {
                stage.is_known(&rule)?;
                stage.expect(Expected::Finding { rule, node });
                Ok(())
            },
        )?;
        self.does("expect_no_finding", |stage, what: Option<String>| {
            let what = what.unwrap_or_else(|| "error".to_owned());
            stage.is_known(&what)?;
            stage.expect(Expected::NoFinding(what));
            Ok(())
        })?;
        self.calls(
            "expect_state",
            move |_, (node, object, what): (String, u64, Table)| {
                let (mut exists, mut owner) = (true, None);
                for pair in what.pairs::<String, Value>() {
                    match pair? {
                        (name, Value::Boolean(is_so)) if name == "exists" => exists = is_so,
                        (name, Value::String(node)) if name == "owner" => {
                            owner = Some(node.to_string_lossy());
                        }
                        _ => return Err(mlua::Error::runtime(HOW_TO_EXPECT)),
                    }
                }
                with(stage, |stage| {
                    stage.expect_state(&node, object, (exists, owner))
                })
            },
        )
    }
}

/// `nodes`, `values`, `seed`, `match`; and what Lua has that a match has otherwise.
fn facts(lua: &Lua, own: &Table, stage: &Stage<'_>) -> mlua::Result<()> {
    let names = stage.scenario.nodes.iter().map(|node| node.name.as_str());
    own.set("nodes", lua.create_sequence_from(names)?)?;
    let values = stage.scenario.values.iter();
    let values = values.map(|(name, text)| Ok((name.as_str(), value(lua, text)?)));
    let values = values.collect::<mlua::Result<Vec<_>>>()?;
    own.set("values", lua.create_table_from(values)?)?;
    own.set("seed", stage.wants.seed)?;
    own.set("match", stage.wants.number)?;
    let os: Table = own.get("os")?;
    let exits = lua.create_function(|_, _: MultiValue| -> mlua::Result<()> {
        Err(mlua::Error::runtime(
            "a script ends with `return`, not with os.exit",
        ))
    })?;
    os.set("exit", exits)?;
    let math: Table = own.get("math")?;
    // What is drawn is drawn from the seed of the match, whole: Lua takes two halves.
    let halves = (
        (stage.wants.seed >> 32) as i64,
        (stage.wants.seed as u32) as i64,
    );
    math.get::<Function>("randomseed")?.call::<()>(halves)
}

/// A value of the scenario as a script has it: a number, true or false where it is one.
fn value(lua: &Lua, text: &str) -> mlua::Result<Value> {
    match (text, text.parse::<i64>(), text.parse::<f64>()) {
        ("true", ..) => true.into_lua(lua),
        ("false", ..) => false.into_lua(lua),
        (_, Ok(whole), _) => whole.into_lua(lua),
        (_, _, Ok(number)) if number.is_finite() => number.into_lua(lua),
        _ => text.into_lua(lua),
    }
}

const HOW_TO_EXPECT: &str =
    "write expect_state(NODE, OBJECT, {owner = NODE}), or {exists = false}, or {exists = true}";

/// `wait(SECONDS, NODES, QUESTION)`: until each answers yes. `wait(SECONDS, FUNCTION, WHAT)`: until the
/// function says so.
fn wait(stage: &Shared<'_, '_>, seconds: f64, awaited: &[Value]) -> mlua::Result<()> {
    length(seconds)?;
    if let [Value::Function(is_so), what @ ..] = awaited {
        let what = what.first().map(Value::to_string).transpose()?;
        let what = format!("wait for {}", what.as_deref().unwrap_or("a function"));
        let begun = Instant::now();
        let debugs = stage.borrow().wants.asked.debugs.is_some();
        loop {
            with(stage, |stage| stage.go_on())?;
            // The function may do whatever a script does: the match is not held meanwhile.
            let is_so = is_so.call::<bool>(())?;
            let took = begun.elapsed().as_secs_f64();
            if is_so || took > seconds && !debugs {
                return with(stage, |stage| stage.waited(&what, (is_so, took), seconds));
            }
            std::thread::sleep(LOOK);
        }
    }
    let [who, Value::String(question)] = awaited else {
        let how = "write wait(SECONDS, NODE, \"QUESTION\") or wait(SECONDS, FUNCTION)";
        return Err(mlua::Error::runtime(how));
    };
    let (who, question) = (Who::of(who)?, question.to_string_lossy());
    with(stage, |stage| {
        let what = format!("wait {}: {question}", who.names.join(", "));
        let mut latest = String::new();
        let waited = stage.wait_until(seconds, &what, &mut |stage| {
            for name in &who.names {
                stage.hears(name)?;
                // A node that is busy, or does not know yet, is asked again.
                let answer = stage.ask(name, &question, ASKED_AGAIN);
                let text = answer.unwrap_or_else(|why| why);
                if text.trim() != "yes" {
                    latest = text;
                    return Ok(false);
                }
            }
            Ok(true)
        });
        waited.map_err(|why| match latest.as_str() {
            "" | "no" => why,
            latest => format!("{why}; the last answer: {latest}"),
        })
    })
}

/// Seconds as a script says them: up to a day.
fn length(seconds: f64) -> mlua::Result<Duration> {
    if (0.0..=86_400.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(mlua::Error::runtime("a time is from 0 to 86400 seconds"))
    }
}

/// One node, or a list of them.
struct Who {
    names: Vec<String>,
    is_list: bool,
}

impl Who {
    fn of(value: &Value) -> mlua::Result<Who> {
        match value {
            Value::String(name) => Ok(Who {
                names: vec![name.to_string_lossy()],
                is_list: false,
            }),
            Value::Table(names) => Ok(Who {
                names: names.sequence_values().collect::<mlua::Result<_>>()?,
                is_list: true,
            }),
            other => Err(mlua::Error::runtime(format!(
                "a node is named by a text, several by a list; this is a {}",
                other.type_name()
            ))),
        }
    }

    /// What each answers: a text for one node, a table by name for a list.
    fn each(
        &self,
        lua: &Lua,
        mut act: impl FnMut(&str) -> mlua::Result<String>,
    ) -> mlua::Result<Value> {
        let mut answers: Vec<(String, String)> = self
            .names
            .iter()
            .map(|name| Ok((name.clone(), act(name)?)))
            .collect::<mlua::Result<_>>()?;
        match (self.is_list, answers.pop()) {
            (false, Some((_, answer))) => answer.into_lua(lua),
            (_, last) => lua
                .create_table_from(answers.into_iter().chain(last))?
                .into_lua(lua),
        }
    }
}

impl FromLua for Who {
    fn from_lua(value: Value, _: &Lua) -> mlua::Result<Who> {
        Who::of(&value)
    }
}
