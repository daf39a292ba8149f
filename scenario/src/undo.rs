//! What a script did and may undo: links that were made worse, nodes that were started or ended, and whatever
//! the script itself says how to undo.

use std::cell::RefCell;

use mlua::Function;

use crate::stage::Stage;

/// Does something with the match on behalf of a script.
type Act<'a> =
    dyn Fn(&mut dyn FnMut(&mut Stage<'_>) -> Result<(), String>) -> mlua::Result<()> + 'a;

/// A link: from which node, where it has one, to which, or which one it is itself.
type Link = (Option<String>, String);

/// What can be undone.
enum Done {
    /// A link has these faults, unless others came later.
    Faults(Link, String),
    Started(Vec<String>),
    Ended(Vec<String>),
    /// What is called to undo it, and what that is called.
    Told(Function, String),
}

/// All that a script did, in order: each is undone once.
#[derive(Default)]
pub(crate) struct Doings {
    all: RefCell<Vec<Option<Done>>>,
}

impl Doings {
    /// A link was made worse, or as it is: the number of that.
    pub fn faults(&self, from: Option<&str>, to: &str, words: &str) -> usize {
        let link = (from.map(str::to_owned), to.to_owned());
        self.push(Done::Faults(link, words.to_owned()))
    }

    /// Nodes were started.
    pub fn started(&self, names: &[String]) -> usize {
        self.push(Done::Started(names.to_vec()))
    }

    /// Nodes were ended.
    pub fn ended(&self, names: &[String]) -> usize {
        self.push(Done::Ended(names.to_vec()))
    }

    /// The script did something; what undoes it.
    pub fn told(&self, undoes: Function, what: String) -> usize {
        self.push(Done::Told(undoes, what))
    }

    fn push(&self, done: Done) -> usize {
        let mut all = self.all.borrow_mut();
        all.push(Some(done));
        all.len()
    }

    /// Undoes what has this number, from 1; all that is left, the last first, without one.
    ///
    /// # Errors
    /// Nothing has the number, or it was undone; it cannot be undone.
    pub fn undo(&self, number: Option<usize>, act: &Act<'_>) -> mlua::Result<()> {
        let numbers: Vec<usize> = match number {
            Some(number) => vec![number],
            None => (1..=self.all.borrow().len()).rev().collect(),
        };
        for each in numbers {
            match self.take(each) {
                Some(done) => self.undo_one(done, act)?,
                None if number.is_some() => {
                    let why =
                        format!("nothing that was done has the number {each}, or it was undone");
                    return Err(mlua::Error::runtime(why));
                }
                None => {}
            }
        }
        Ok(())
    }

    /// The match is over: calls what the script says undoes something, the last first. The first that fails.
    pub fn end(&self) -> mlua::Result<()> {
        let mut ended = Ok(());
        let count = self.all.borrow().len();
        for number in (1..=count).rev() {
            let is_told = matches!(
                self.all.borrow().get(number - 1),
                Some(Some(Done::Told(..)))
            );
            if let (true, Some(Done::Told(undoes, _))) = (is_told, self.take(number)) {
                ended = ended.and(undoes.call::<()>(()));
            }
        }
        ended
    }

    fn take(&self, number: usize) -> Option<Done> {
        self.all
            .borrow_mut()
            .get_mut(number.checked_sub(1)?)?
            .take()
    }

    /// What a link has now: what was set last of what is not undone holds.
    fn stands(&self, link: &Link) -> String {
        let all = self.all.borrow();
        let stands = all.iter().rev().flatten().find_map(|it| match it {
            Done::Faults(other, words) if other == link => Some(words.clone()),
            _ => None,
        });
        stands.unwrap_or_else(|| "none".to_owned())
    }

    fn undo_one(&self, done: Done, act: &Act<'_>) -> mlua::Result<()> {
        match done {
            Done::Told(undoes, what) => {
                act(&mut |stage| {
                    stage.note(&format!("undo {what}"));
                    Ok(())
                })?;
                undoes.call::<()>(())
            }
            Done::Faults(link, _) => act(&mut |stage| {
                let (from, to) = &link;
                stage.note(&format!("undo faults of the link to {to}"));
                stage.faults(from.as_deref(), to, &self.stands(&link))
            }),
            Done::Started(names) => act(&mut |stage| {
                for name in names.iter().rev() {
                    if stage.lives(name)? {
                        stage.stop(name)?;
                    }
                }
                Ok(())
            }),
            Done::Ended(names) => act(&mut |stage| {
                let mut ended = Vec::new();
                for name in &names {
                    if !stage.lives(name)? {
                        ended.push(name.clone());
                    }
                }
                stage.start(&ended)
            }),
        }
    }
}
