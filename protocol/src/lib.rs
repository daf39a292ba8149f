//! Several reels, one story.
