//! `netreel wire test`: runs the `test` blocks of wire files.

use std::io::Write;

use netreel_wire::TestResult;
use serde::Serialize;

use super::source::Source;
use crate::arguments::WireTest;
use crate::outcome::{Answer, Result};
use crate::packets::json;
use crate::text;

/// `netreel wire test --json`.
#[derive(Serialize)]
struct TestsJson {
    passed: usize,
    failed: usize,
    tests: Vec<TestJson>,
}

#[derive(Serialize)]
struct TestJson {
    file: String,
    line: u32,
    name: String,
    passed: bool,
    failures: Vec<FailureJson>,
}

#[derive(Serialize)]
struct FailureJson {
    path: String,
    message: String,
}

pub fn run(arguments: &WireTest, out: &mut dyn Write) -> Result<Answer> {
    let mut results: Vec<TestResult> = Vec::new();
    for path in &arguments.files {
        results.extend(Source::read(path).wire()?.run_tests());
    }
    let failed = results.iter().filter(|result| !result.passed()).count();
    let passed = results.len() - failed;
    if arguments.json {
        let tests = results.into_iter().map(test_json).collect();
        let whole = TestsJson {
            passed,
            failed,
            tests,
        };
        json(&whole, out)?;
    } else {
        for result in &results {
            report(result, out)?;
        }
        let tests = text::counted(results.len() as u64, "test");
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

fn test_json(result: TestResult) -> TestJson {
    let passed = result.passed();
    let failures = result.failures.into_iter().map(|failure| FailureJson {
        path: failure.path,
        message: failure.message,
    });
    TestJson {
        file: result.file,
        line: result.line,
        name: result.name,
        passed,
        failures: failures.collect(),
    }
}
