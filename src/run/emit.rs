//! The loop as jobs of a scheduler that there is.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use netreel_protocol::history::Level;

use crate::arguments::{Emit, Run};
use crate::outcome::{Answer, Result};
use crate::text;

/// So many jobs a loop is cut into, unless it is said.
const JOBS: u64 = 10;

/// The dataset of a job, in its folder.
pub const DATASET: &str = "dataset";

const SLURM: &str = r#"#!/bin/sh
# sbatch this file; then: netreel run --gather run/part-*GATHERED
#SBATCH --job-name=NAME
#SBATCH --array=1-PARTS
#SBATCH --output=run-%a.log
COMMAND || [ $? -eq 1 ]
"#;

const KUBERNETES: &str = r#"# kubectl apply -f this file; then, where the volume is: netreel run --gather run/part-*GATHERED
# The image has netreel, the scenario and what its nodes need; the claim is a volume that all pods reach.
apiVersion: batch/v1
kind: Job
metadata:
  name: NAME
spec:
  completionMode: Indexed
  completions: PARTS
  parallelism: PARTS
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: netreel
          image: netreel
          workingDir: /work
          command: ["/bin/sh", "-c"]
          args:
            - |
              part=$((JOB_COMPLETION_INDEX + 1))
              COMMAND || [ $? -eq 1 ]
          volumeMounts:
            - name: work
              mountPath: /work
      volumes:
        - name: work
          persistentVolumeClaim:
            claimName: netreel
"#;

const GITHUB: &str = r#"name: NAME
on:
  workflow_dispatch:
  schedule:
    - cron: "0 2 * * *"
jobs:
  part:
    runs-on: ubuntu-latest
    strategy:
      fail-fast: false
      matrix:
        part: [ALL]
    steps:
      - uses: actions/checkout@v4
      # Install netreel and build the game here.
      - run: |
          COMMAND || [ $? -eq 1 ]
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: part-${{ matrix.part }}
          path: run/part-${{ matrix.part }}
  gather:
    needs: part
    if: always()
    runs-on: ubuntu-latest
    steps:
      # Install netreel here.
      - uses: actions/download-artifact@v4
        with:
          path: run
      - run: |
          netreel run --gather run/part-*GATHERED --junit run.xml --html run.html
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: report
          path: REPORT
"#;

/// Writes the loop of a scenario that is called so. A bad match is an answer, and no failed job: gathering
/// says it.
pub fn write(
    emit: Emit,
    (arguments, file): (&Run, &Path),
    name: &str,
    out: &mut dyn Write,
) -> Result<Answer> {
    let parts = arguments.jobs.map_or(JOBS, u64::from).min(arguments.repeat);
    let (text, part) = match emit {
        Emit::Slurm => (SLURM, "$SLURM_ARRAY_TASK_ID"),
        Emit::Kubernetes => (KUBERNETES, "$part"),
        Emit::Github => (GITHUB, "${{ matrix.part }}"),
    };
    let letter = |letter: char| match letter.to_ascii_lowercase() {
        letter if letter.is_ascii_alphanumeric() => letter,
        _ => '-',
    };
    let name: String = name.chars().map(letter).take(60).collect();
    let all = text::joined((1..=parts).map(|part| part.to_string()), ", ");
    let words = [
        ("NAME", name.trim_matches('-')),
        ("PARTS", &parts.to_string()),
        ("ALL", &all),
        ("GATHERED", &gathered(arguments)),
        ("REPORT", &report(arguments)),
        ("COMMAND", &command(arguments, file, part, parts)),
    ];
    out.write_all(filled(text, &words).as_bytes())?;
    Ok(Answer::Clean)
}

/// The text with something else in place of each of these words. What was put there may hold such a word,
/// which stays.
fn filled(text: &str, words: &[(&str, &str)]) -> String {
    let [(word, meant), others @ ..] = words else {
        return text.to_owned();
    };
    let between: Vec<String> = text.split(word).map(|it| filled(it, others)).collect();
    between.join(meant)
}

/// What each job runs. `part` is how it knows which one it is.
fn command(arguments: &Run, file: &Path, part: &str, parts: u64) -> String {
    let mut command = format!(
        "netreel run {} --repeat {} --seed {} --part {part}/{parts} --out run/part-{part}",
        netreel_scenario::quoted(&file.display().to_string()),
        arguments.repeat,
        arguments.seed
    );
    for (name, value) in &arguments.set {
        let _ = write!(
            command,
            " --set {}",
            netreel_scenario::quoted(&format!("{name}={value}"))
        );
    }
    command.push_str(&level(arguments));
    if arguments.dataset.is_some() {
        let _ = write!(command, " --dataset run/part-{part}/{DATASET}");
    }
    if arguments.keep_all {
        command.push_str(" --keep-all");
    }
    if arguments.shrink {
        command.push_str(" --shrink");
    }
    command
}

/// How the jobs are gathered: as they were played, and into the dataset that is wanted.
fn gathered(arguments: &Run) -> String {
    let dataset = arguments.dataset.as_ref().map(|it| {
        let dataset = netreel_scenario::quoted(&it.display().to_string());
        format!(" --dataset {dataset}")
    });
    level(arguments) + &dataset.unwrap_or_default()
}

/// What a workflow hands on.
fn report(arguments: &Run) -> String {
    match &arguments.dataset {
        None => "run.*".to_owned(),
        Some(dataset) => format!("|\n            run.*\n            {}", dataset.display()),
    }
}

/// From which level on a match is bad.
fn level(arguments: &Run) -> String {
    let until = arguments
        .until_finding
        .map(|level| ("until-finding", level));
    let (option, level) = until.unwrap_or(("fail-on", arguments.fail_on));
    format!(" --{option} {}", Level::from(level).name())
}
