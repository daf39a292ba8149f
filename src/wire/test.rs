//! `netreel wire test`: runs the `test` blocks of wire files.

use std::io::Write;

use netreel_wire::TestResult;
use serde_json::{Value, json};

use super::source::Source;
use crate::arguments::WireTest;
use crate::outcome::{Answer, Result};
use crate::packets::json as print_json;
use crate::text;

pub fn run(arguments: &WireTest, out: &mut dyn Write) -> Result<Answer> {
    let mut results: Vec<TestResult> = Vec::new();
    for path in &arguments.files {
        results.extend(Source::read(path).wire()?.run_tests());
    }
    let failed = results.iter().filter(|result| !result.passed()).count();
    let passed = results.len() - failed;
    if arguments.json {
        let tests: Vec<Value> = results.iter().map(test_json).collect();
        print_json(
            &json!({ "passed": passed, "failed": failed, "tests": tests }),
            out,
        )?;
    } else {
        for result in &results {
            report(result, out)?;
        }
        let tests = text::counted(results.len(), "test");
        writeln!(out, "{tests}, {passed} passed, {failed} failed")?;
    }
    Ok(Answer::clean_if(failed == 0))
}

fn report(result: &TestResult, out: &mut dyn Write) -> Result {
    use anstyle::AnsiColor;
    let (style, word) = match result.passed() {
        true => (AnsiColor::Green.on_default(), "ok    "),
        false => (AnsiColor::Red.on_default().bold(), "FAILED"),
    };
    let style = text::style(style);
    let TestResult {
        name, file, line, ..
    } = result;
    writeln!(out, "{style}{word}{style:#}  {file}:{line}  {name}")?;
    for failure in &result.failures {
        match failure.path.as_str() {
            "" => writeln!(out, "          {}", failure.message)?,
            path => writeln!(out, "          {path}: {}", failure.message)?,
        }
    }
    Ok(())
}

fn test_json(result: &TestResult) -> Value {
    let failures = result.failures.iter();
    let failures = failures.map(|it| json!({ "path": it.path, "message": it.message }));
    json!({
        "file": result.file,
        "line": result.line,
        "name": result.name,
        "passed": result.passed(),
        "failures": failures.collect::<Vec<_>>(),
    })
}
