//! What panning leaves behind: nothing. A test alone in its program, because all of it is counted.

#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

use netreel_inspector::{Answer, Command, Inspector, Model, Stage, Workspace};

/// Bytes that are taken now.
static TAKEN: AtomicIsize = AtomicIsize::new(0);

struct Counted;

// SAFETY: the system's allocator does all of it; a number is kept beside.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        TAKEN.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: whoever calls keeps to the same rules.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        TAKEN.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: whoever calls keeps to the same rules.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// There and back through all of the session.
fn pan(inspector: &mut Inspector, stage: &mut Stage, frames: usize) {
    for frame in 0..frames {
        let step = if frame / 150 % 2 == 0 { 40.0 } else { -40.0 };
        let model = inspector.model_mut();
        let ns = model.scale(1_600.0).ns(step);
        model.apply(Command::Pan(ns));
        let mut staged = stage.frame(Vec::new(), &mut |ui| inspector.show(ui));
        staged.textures.clear();
        inspector.model_mut().finish_beside();
    }
}

#[test]
fn panning_leaves_nothing_behind() {
    let (session, history) = fixture::long(20_000);
    let near = (Workspace::Why, 500..600);
    let all = Workspace::ALL.map(|(_, workspace)| (workspace, 200..1_500));
    for (workspace, visible) in all.into_iter().chain([near]) {
        let model = || Model::new(session.clone(), history.clone());
        let mut inspector = Inspector::new(model(), workspace);
        if workspace == Workspace::Compare {
            inspector.hear(Answer::Compared {
                model: Box::new(model()),
                title: "the same".to_owned(),
            });
        }
        let shown = Command::Show(fixture::ms(visible.clone()));
        inspector.model_mut().apply(shown);
        let mut stage = Stage::new(1_000, 640);
        pan(&mut inspector, &mut stage, 300);
        let before = TAKEN.load(Ordering::Relaxed);
        pan(&mut inspector, &mut stage, 600);
        let grown = TAKEN.load(Ordering::Relaxed) - before;
        assert!(
            grown < 200_000,
            "{workspace:?} {visible:?}: {grown} bytes more"
        );
    }
}
