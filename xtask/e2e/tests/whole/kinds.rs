//! What else people send than plain text, and what the platform sends wrongly: reported inputs of
//! `cases/wechat.jsonl` and others of their kinds.

use anyhow::{Context, Result};
use scv_e2e::{
    play::{ID_1, ID_2, ID_3, Right, play, play_polls, sorted, texts},
    scene::{SOON, Scene, answer_to},
};
use scv_simulators::{cases::wechat_case, ilink::OWNER};
use serde_json::{Value, json};

/// A poll of one good message.
fn good_poll() -> Result<Value> {
    let poll = wechat_case("dup-same-id")?.polls().into_iter().next().context("a poll")?;
    Ok(serde_json::from_str(&poll)?)
}

/// A poll with one message for each change: a good message with these fields over its own.
/// Message and token are numbered.
fn poll_of(changes: &[Value]) -> Result<String> {
    let mut poll = good_poll()?;
    let good = poll["msgs"][0].clone();
    let message = |(number, change): (usize, &Value)| {
        let mut message = good.clone();
        message["message_id"] = json!(7_492_913_259_736_648_001_u64 + number as u64);
        message["create_time_ms"] = json!(1_790_000_001_000_u64 + number as u64);
        message["context_token"] = json!(format!("ctx-{}", number + 1));
        for (name, value) in change.as_object().into_iter().flatten() {
            message[name.as_str()] = value.clone();
        }
        message
    };
    poll["msgs"] = changes.iter().enumerate().map(message).collect();
    Ok(poll.to_string())
}

fn text(text: &str) -> Value {
    json!({"item_list": [{"type": 1, "text_item": {"text": text}}]})
}

/// A group is its own conversation: never answered in the direct chat, and without tools even
/// for the owner who has them there.
#[tokio::test]
async fn group_field() -> Result<()> {
    let scene = Scene::signed_in()?;
    scene.grant_tools()?;
    wechat_case("group-field")?.script(&scene.ilink);
    let mut daemon = scene.daemon().await?;
    let sent = scene.ilink.wait_sends(1, SOON).await?;
    let state = scene.stop(&mut daemon).await?;
    assert_eq!(scene.model.prompts(), ["hello all"]);
    assert_eq!(sent[0].group_id.as_deref(), Some("12345@chatroom"));
    assert_eq!(scene.ilink.visible(OWNER), [""; 0], "nothing in the direct chat");
    assert!(scene.model.requests()[0].json()["tools"].is_null(), "no tools in a group");
    assert_eq!(texts(&state["seen"]), [ID_1]);
    Ok(())
}

#[tokio::test]
async fn voice_transcript() -> Result<()> {
    let prompts = &["[Transcript of a voice message]\nlist open issues"];
    play("voice-transcript", Right { prompts, seen: &[ID_1], cursor: "b1" }).await
}

#[tokio::test]
async fn quote_text() -> Result<()> {
    let prompts = &["[Quote of an earlier message]\n> a long earlier answer\n\nshorter please"];
    play("quote-text", Right { prompts, seen: &[ID_1], cursor: "b1" }).await
}

#[tokio::test]
async fn quote_type0() -> Result<()> {
    play("quote-type0", Right { prompts: &["redo"], seen: &[ID_1], cursor: "b1" }).await
}

/// The other two shapes of a quote: of a message of the bot, and by a server's id only.
#[tokio::test]
async fn quotes_in_other_shapes() -> Result<()> {
    let quoting = |quote: Value| json!({"item_list": [{"type": 1, "text_item": {"text": "shorter"}, "ref_msg": quote}]});
    let of_bot = json!({"title": "the bot's answer", "message_item": {"type": 8}});
    let poll =
        poll_of(&[quoting(of_bot), quoting(json!({"svr_id": 7_492_913_259_736_647_000_u64}))])?;
    let prompts = &["[Quote of your earlier message]\n> the bot's answer\n\nshorter", "shorter"];
    play_polls(&[poll], Right { prompts, seen: &[ID_1, ID_2], cursor: "b1" }).await
}

/// Things that nobody can read here: no turn, remembered, and one notice for all of them.
async fn one_notice(polls: Vec<String>, seen: &[&str]) -> Result<()> {
    let scene = Scene::signed_in()?;
    for poll in &polls {
        scene.ilink.push_poll(poll);
    }
    let mut daemon = scene.daemon().await?;
    scene.ilink.wait_polls(polls.len() + 1, SOON).await?;
    scene.ilink.wait_sends(1, SOON).await?;
    let state = scene.stop(&mut daemon).await?;
    assert_eq!(scene.model.prompts(), [""; 0]);
    assert_eq!(scene.ilink.sent().len(), 1, "{:?}", scene.ilink.sent());
    assert!(scene.ilink.visible(OWNER)[0].contains("only read text"));
    assert_eq!(sorted(texts(&state["seen"])), seen);
    assert!(state["pending"].is_null() && state["held"].is_null(), "{state}");
    Ok(())
}

#[tokio::test]
async fn image_only() -> Result<()> {
    one_notice(wechat_case("image-only")?.polls(), &[ID_1]).await
}

#[tokio::test]
async fn file_only() -> Result<()> {
    one_notice(wechat_case("file-only")?.polls(), &[ID_1]).await
}

/// A burst of what cannot be read: a speech without transcript, a film, a card of a type that
/// nobody has described.
#[tokio::test]
async fn a_burst_has_one_notice() -> Result<()> {
    let item = |item: Value| json!({"item_list": [item]});
    let poll = poll_of(&[
        item(json!({"type": 3, "voice_item": {"playtime": 2300}})),
        item(json!({"type": 5, "video_item": {"play_length": 4}})),
        item(json!({"type": 49, "card_item": {"title": "an article", "url": "https://a.example"}})),
    ])?;
    one_notice(vec![poll], &[ID_1, ID_2, ID_3]).await
}

/// Delivered again under a new id and token: the sender wrote it once.
#[tokio::test]
async fn dup_new_id() -> Result<()> {
    let first = wechat_case("dup-same-id")?.polls().remove(0);
    let again = first.replace(ID_1, ID_2).replace("ctx-1", "ctx-9").replace("\"b1\"", "\"b2\"");
    let right = Right { prompts: &["run tests"], seen: &[ID_1, ID_2], cursor: "b2" };
    play_polls(&[first, again], right).await
}

/// Without an id nothing can be remembered: such a message starts no turn, alone or in company.
#[tokio::test]
async fn no_id() -> Result<()> {
    let mut poll: Value = serde_json::from_str(&poll_of(&[text("a"), text("b"), text("c")])?)?;
    for (at, id) in [(0, Value::Null), (2, json!("undefined"))] {
        poll["msgs"][at]["message_id"] = id;
    }
    // A text is an id like any other; no id at all is none.
    let right = Right { prompts: &["b", "c"], seen: &[ID_2, "undefined"], cursor: "b1" };
    play_polls(&[poll.to_string()], right).await
}

/// All texts of a message are read; what cannot be read beside them needs no notice.
#[tokio::test]
async fn text_beside_a_picture() -> Result<()> {
    let items = json!({"item_list": [
        {"type": 1, "text_item": {"text": "what is"}},
        {"type": 2, "image_item": {"aeskey": "30313233343536373839616263646566"}},
        {"type": 1, "text_item": {"text": "on this?"}},
    ]});
    let right = Right { prompts: &["what is\non this?"], seen: &[ID_1], cursor: "b1" };
    play_polls(&[poll_of(&[items])?], right).await
}

/// An empty cursor is no place to read from: the old one stays.
#[tokio::test]
async fn an_empty_cursor_keeps_the_old_one() -> Result<()> {
    let first = poll_of(&[text("a")])?;
    let second = poll_of(&[text("a"), text("b")])?.replace("\"b1\"", "\"\"");
    let right = Right { prompts: &["a", "b"], seen: &[ID_1, ID_2], cursor: "b1" };
    play_polls(&[first, second], right).await
}

/// Text goes out as the model wrote it: signs that a phone may treat as markup, too.
#[tokio::test]
async fn text_is_not_rewritten() -> Result<()> {
    let scene = Scene::signed_in()?;
    let mut daemon = scene.connected().await?;
    let prompt = "see my_file_name.rs: a < b && c > d, **bold** `x`";
    scene.ilink.push_message(OWNER, prompt);
    assert_eq!(scene.ilink.wait_visible(OWNER, 1, SOON).await?, [answer_to(prompt)]);
    scene.stop(&mut daemon).await?;
    Ok(())
}
