//! What became of requests.

use std::path::PathBuf;
use std::sync::Arc;

use netreel_inspector_model::{Command, Model};

use super::{Chosen, Inspector};
use crate::ask::{Answer, Standing};
use crate::kept_run::KeptRun;
use crate::layout::Workspace;
use crate::views::compare::Other;
use crate::views::replay::Seat;
use crate::views::run::RunList;

impl Inspector {
    /// Takes in what became of a request.
    pub fn hear(&mut self, answer: Answer) {
        match answer {
            Answer::Working(what) => self.bar.working = Some(what),
            Answer::Begun {
                model,
                title,
                paths,
            } => {
                self.opens(*model, title, &paths);
                self.begun = Some(paths);
            }
            Answer::Opened {
                mut model,
                title,
                paths,
            } => {
                if self.begun.as_ref() == Some(&paths) {
                    model.go_on_from(&self.model);
                }
                self.opens(*model, title, &paths);
            }
            Answer::Reread {
                mut model,
                title,
                paths,
            } => {
                model.go_on_from(&self.model);
                self.opens(*model, title, &paths);
            }
            Answer::Run { run, is_asked } => self.lists(run, is_asked),
            Answer::Mistake(sentence) => {
                self.bar.working = None;
                self.bar.news = Some(sentence);
            }
            Answer::Candidates(found) => {
                if let Some(candidates) = &mut self.candidates {
                    candidates.found = Some(found);
                }
            }
            Answer::Listed(typed, paths) => {
                if let Some(asked) = &mut self.path_box {
                    asked.hear(&typed, paths);
                }
            }
            Answer::Chosen(wanted, path) => {
                if let Some(path) = path {
                    self.path_box = None;
                    self.named_path(wanted, path);
                }
            }
            Answer::Done(sentence) => self.bar.done = Some(sentence),
            Answer::Why(filter) => {
                self.bar.filter.clone_from(&filter);
                self.model.apply(Command::SetFilter(filter));
                self.go_to(Workspace::Why);
            }
            // A filter that begins anew with each look would come to no end.
            Answer::Grown { model, live } => {
                if self.model.is_filtering() {
                    self.further = Some((model, live))
                } else {
                    self.grows(*model, live)
                }
            }
            Answer::Followed(followed) => match &mut self.further {
                Some((model, _)) => model.take_followed(*followed),
                None => self.model.take_followed(*followed),
            },
            Answer::Stands(standing) => self.stands(*standing),
            Answer::Stood(why) => self.seat.stood(why),
            Answer::Compared { model, title } => self.compares(model, title),
            Answer::NotCompared(why) => (self.other.waits, self.other.why) = (false, Some(why)),
            Answer::Failed(sentence) => {
                self.bar.working = None;
                self.only_begun();
                self.bar.news = Some(sentence);
            }
        }
    }

    /// Lists the matches of a run.
    fn lists(&mut self, run: KeptRun, is_asked: bool) {
        // What somebody has picked stays where the same is told again.
        let is_known = self.run.as_ref().is_some_and(|it| it.run == run);
        match &mut self.run {
            Some(list) if is_known => list.is_shown |= is_asked,
            _ => self.run = Some(RunList::new(run, is_asked)),
        }
        if is_asked {
            (self.bar.working, self.bar.news) = (None, None);
            // Behind the list stands what can be opened, where nothing is.
            self.welcomes = true;
        }
    }

    /// A replay stands somewhere.
    fn stands(&mut self, standing: Standing) {
        // The cursor goes along: all panes show what was so then.
        if let Some(time) = standing.time {
            self.model.apply(Command::SetCursor(Some(time)));
        }
        if let Some(packet) = standing.packet {
            self.model.apply(Command::SelectPacket(packet));
        }
        self.seat.stands(standing);
    }

    /// Holds a session against the one that is shown.
    fn compares(&mut self, mut model: Box<Model>, title: String) {
        model.set_own_columns(self.settings.own_columns());
        model.set_lanes(Arc::clone(&self.kept_lanes));
        self.other.model = Some(model);
        self.other.is_new = true;
        self.other.title = title;
        self.other.is_focus = false;
        (self.other.waits, self.other.why) = (false, None);
        self.mute();
    }

    /// Shows the session that is shown as it was at a later look.
    pub(super) fn grows(&mut self, further: Model, live: bool) {
        self.further = None;
        self.begun = None;
        self.bar.working = None;
        self.bar.live = live;
        let is_kept = self.kept_bookmarks == *self.model.bookmarks();
        let had_wire = self.model.session().wire.is_some();
        let is_first = self.model.session().nodes.is_empty();
        self.model.grow(further);
        // Of what is about to be recorded nobody knows yet what its packets carry.
        if !had_wire && self.order() == self.kept_order {
            self.plot_as_kept();
        }
        // Whoever watched it come stays where it was watched.
        if live && self.chosen == Chosen::NotYet {
            self.chosen = Chosen::ByWhatIsThere;
        }
        // Who begins to follow looks at what comes: it stands at the end in the order of time alone.
        if live && is_first {
            self.model.sort(None);
            self.kept_order = self.order();
        }
        if is_kept {
            self.kept_bookmarks = Arc::clone(self.model.bookmarks());
        }
    }

    /// Nobody reads on any more; whether it is the beginning alone that is shown.
    pub(super) fn only_begun(&mut self) -> bool {
        let is_begun = self.begun.take().is_some();
        if is_begun {
            self.model.apply(Command::GiveUp);
        }
        is_begun
    }

    /// Shows another session.
    fn opens(&mut self, model: Model, title: String, paths: &[PathBuf]) {
        self.bar.filter = model.filter().text.clone();
        self.model = model;
        self.model.set_own_columns(self.settings.own_columns());
        self.order_as_kept();
        self.mute();
        self.further = None;
        self.begun = None;
        self.kept_bookmarks = Arc::clone(self.model.bookmarks());
        self.seat = Seat::default();
        self.other = Other::default();
        (self.bar.news, self.bar.done) = (None, None);
        self.bar.working = None;
        self.bar.live = false;
        if self.chosen == Chosen::ByWhatIsThere {
            self.chosen = Chosen::NotYet;
        }
        self.settings.opened(paths);
        if self.paths != paths {
            self.kept_lanes = self.settings.lanes_of(paths);
        }
        self.model.set_lanes(Arc::clone(&self.kept_lanes));
        self.moves.begin(&self.kept_lanes);
        self.paths = paths.to_vec();
        self.named.clone_from(&title);
        self.title = Some(title);
    }
}
