//! `netreel inspect`: the window, or a picture of it.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use netreel_inspector::{Command, Model, Options, View};

use crate::arguments::Inspect;
use crate::open::{self, Story};
use crate::outcome::{Answer, Failure};

pub fn run(arguments: &Inspect, out: &mut dyn Write) -> Result<Answer, Failure> {
    let filter = arguments.filter.clone().unwrap_or_default();
    let view =
        View::named(&arguments.view).map_err(|why| Failure::new(format!("--view: {why}")))?;
    let size = size(&arguments.size)?;
    let mut story = open::story(&arguments.source)?;
    open::query(Some(&filter), &story.session)?;
    let model = model(&mut story, &filter);
    match &arguments.screenshot {
        Some(file) => {
            draw(model, view, size, file)?;
            writeln!(out, "{}", file.display())?;
        }
        None => {
            let paths = arguments.source.paths.iter();
            let title = paths
                .map(|path| path.display().to_string())
                .collect::<Vec<_>>();
            window(model, view, title.join(" "))?;
        }
    }
    // What the window has found out meanwhile is kept as well.
    story.answered(out)
}

/// `1600x1000`
fn size(text: &str) -> Result<(u32, u32), Failure> {
    let parsed = text.split_once('x').and_then(|(width, height)| {
        let size = (width.parse::<u32>().ok()?, height.parse::<u32>().ok()?);
        let sane = (320..=8192).contains(&size.0) && (240..=8192).contains(&size.1);
        sane.then_some(size)
    });
    parsed.ok_or_else(|| {
        Failure::new(format!(
            "--size {text}: write WIDTHxHEIGHT, from 320x240 to 8192x8192"
        ))
    })
}

/// A model of the story, filtered. The history of many packets is worked out while they are shown;
/// their index is kept before, so that whoever opens them again finds it whenever the window closes.
pub fn model(story: &mut Story, filter: &str) -> Model {
    let is_small = story.session.is_small();
    if !is_small {
        story.keep_index();
    }
    let session = story.session.clone();
    let mut model = match story.take_history() {
        Some(history) => Model::without(session, Arc::new(history), &story.unread),
        None => Model::open(session, &story.unread),
    };
    if is_small {
        story.keep_index();
    }
    if !filter.is_empty() {
        model.apply(Command::SetFilter(filter.to_owned()));
    }
    model
}

/// Draws a picture of the window.
pub fn draw(model: Model, view: View, size: (u32, u32), file: &Path) -> Result<(), Failure> {
    netreel_inspector::photograph(model, view, size, file).map_err(Failure::new)
}

/// Opens the window; returns when it is closed.
pub fn window(model: Model, view: View, title: String) -> Result<(), Failure> {
    let options = Options {
        view,
        title,
        ..Options::default()
    };
    netreel_inspector::run(model, options, Box::new(netreel_inspector::Alone::default())).map_err(Failure::new)
}
