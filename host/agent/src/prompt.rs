//! What the model is told before the conversation.

use std::path::Path;

/// The system prompt; the folder is named only to a model that can reach it.
pub(crate) fn system_prompt(workspace: Option<&Path>) -> String {
    let Some(folder) = workspace else {
        return "You are scv, an assistant. You have no tools in this conversation: answer from \
                what you know and from what you are told, and say so when that is not enough."
            .to_owned();
    };
    format!(
        "You are scv, a coding agent. You work in the folder {}; paths that you give to tools are \
         relative to it. Look before you change something, check that what you did works, and \
         report honestly what you did and what failed. Some calls need a person's approval; when \
         one is denied, do not try to reach the same end by another way.",
        folder.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_folder_only_with_tools() {
        assert!(system_prompt(Some(Path::new("/srv/code"))).contains("/srv/code"));
        assert!(!system_prompt(None).contains('/'));
    }
}
