//! What views remember from frame to frame, each thing under a name of its own.

use egui::{Context, Id};

/// What is remembered under a name.
pub fn get<T: Clone + 'static>(ctx: &Context, name: &'static str) -> Option<T> {
    ctx.data(|data| data.get_temp(Id::unique(name)))
}

/// Remembers this from now on.
pub fn keep<T: Clone + Send + Sync + 'static>(ctx: &Context, name: &'static str, value: T) {
    ctx.data_mut(|data| data.insert_temp(Id::unique(name), value));
}

/// Changes what is remembered.
pub fn change<T: Clone + Default + Send + Sync + 'static, R>(
    ctx: &Context,
    name: &'static str,
    change: impl FnOnce(&mut T) -> R,
) -> R {
    ctx.data_mut(|data| change(data.get_temp_mut_or_default(Id::unique(name))))
}

/// What is remembered, and no longer from now on.
pub fn take<T: Clone + Default + Send + Sync + 'static>(ctx: &Context, name: &'static str) -> T {
    change(ctx, name, std::mem::take)
}
