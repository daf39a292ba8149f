//! What the window shows of a story, filtered and judged as was asked.

use std::path::PathBuf;
use std::sync::Arc;

use netreel_inspector::{Command, Model};
use netreel_protocol::history::History;
use netreel_protocol::rules::RuleFile;

use crate::open::Story;
use crate::outcome::Result;
use crate::rules;

/// A file of rules, whose tests have passed.
pub type Own = (PathBuf, RuleFile);

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
pub fn ruled(story: &mut Story, filter: &str, rules: Option<&Own>) -> Result<Model> {
    let Some((path, file)) = rules else {
        return Ok(model(story, filter));
    };
    let mut history = History::build(&story.session);
    rules::add((path, file), &story.session, &mut history)?;
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
