//! Pictures of the window, and what it shows of a story, filtered and judged as was asked.

use std::path::Path;
use std::sync::Arc;

use netreel_inspector::theme::Theme;
use netreel_inspector::{Answer as Heard, Command, Inspector, Model, Pane, Settings, Workspace};
use netreel_protocol::history::History;

use crate::open::Story;
use crate::outcome::{Failure, Result};
use crate::rules::Tested;

/// A workspace, where somebody chose one, and the pane of it that has all of the window.
pub type Shown = (Option<Workspace>, Option<Pane>);

/// `1600x1000`
pub fn size(text: &str) -> Result<(u32, u32)> {
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

/// Draws a picture of the window as it is laid out at first.
pub fn draw(model: Model, size: (u32, u32), file: &Path) -> Result {
    let looks = Looks {
        shown: Shown::default(),
        theme: Theme::default(),
        scale: 1.0,
    };
    draw_with(model, looks, size, file, Vec::new())
}

/// How a picture is drawn.
pub struct Looks {
    pub shown: Shown,
    pub theme: Theme,
    pub scale: f32,
}

/// The same of a window that has heard these answers.
pub fn draw_with(
    mut model: Model,
    looks: Looks,
    size: (u32, u32),
    file: &Path,
    heard: Vec<Heard>,
) -> Result {
    model.finish();
    let (workspace, alone) = looks.shown;
    let mut inspector = Inspector::new(model, workspace);
    inspector.show_alone(alone);
    inspector.set_settings(Settings {
        theme: looks.theme.name().to_owned(),
        scale: looks.scale,
        ..Settings::default()
    });
    heard.into_iter().for_each(|answer| inspector.hear(answer));
    Ok(netreel_inspector::draw(&mut inspector, size, file)?)
}

/// A model of the story, filtered. The history of many packets is worked out while they are shown.
/// Their index is kept meanwhile, so that whoever opens them again finds it whenever the window closes,
/// and once more with the history.
pub fn model(story: &mut Story, filter: &str) -> Model {
    let keep = story.take_index();
    let mut model = Model::open_and(story.session.clone(), &story.unread, keep);
    filtered(&mut model, filter);
    model
}

/// The same with what the rules of a file find.
pub fn ruled(story: &mut Story, filter: &str, rules: Option<&Tested>) -> Result<Model> {
    let Some(rules) = rules else {
        return Ok(model(story, filter));
    };
    let mut history = History::build(&story.session);
    rules.add(&story.session, &mut history)?;
    story.keep_index();
    let history = Arc::new(history);
    let mut model = Model::without(story.session.clone(), history, &story.unread);
    filtered(&mut model, filter);
    Ok(model)
}

pub fn filtered(model: &mut Model, filter: &str) {
    if !filter.is_empty() {
        model.apply(Command::SetFilter(filter.to_owned()));
    }
}
