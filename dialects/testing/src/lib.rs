//! What the dialects' own tests share: the runner of their scenario folders and the properties every decision has.
