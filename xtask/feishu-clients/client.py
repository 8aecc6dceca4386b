"""The official Python client, with a handler that says what it got."""

import os

import lark_oapi as lark


def on_message(data: lark.im.v1.P2ImMessageReceiveV1) -> None:
    print("message", data.event.message.message_id, data.event.message.content, flush=True)


handler = (
    lark.EventDispatcherHandler.builder("", "")
    .register_p2_im_message_receive_v1(on_message)
    .build()
)
lark.ws.Client(
    os.environ["APP_ID"],
    os.environ["APP_SECRET"],
    event_handler=handler,
    log_level=lark.LogLevel.DEBUG,
).start()
