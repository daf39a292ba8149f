//! `write-claims CLAIMS PAGE MACHINE DATE COMMAND`: puts what benches handed over into the page's rows.

use std::process::ExitCode;

use netreel_benches::{Run, claims, written};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [handed_over, page, machine, date, command] = arguments.as_slice() else {
        eprintln!("write-claims CLAIMS PAGE MACHINE DATE COMMAND");
        return ExitCode::from(2);
    };
    let run = Run {
        machine,
        date,
        command,
    };
    let done = std::fs::read_to_string(handed_over).and_then(|text| {
        let old = std::fs::read_to_string(page)?;
        let all = claims(&text);
        let (new, left) = written(&old, &all, run);
        std::fs::write(page, new)?;
        Ok((all.len() - left.len(), left))
    });
    match done {
        Ok((count, left)) => {
            println!("{page}: {count} figures are in their rows");
            for row in left {
                println!("no row is named so, put one where it belongs: {row}");
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{handed_over}, {page}: {error}");
            ExitCode::FAILURE
        }
    }
}
