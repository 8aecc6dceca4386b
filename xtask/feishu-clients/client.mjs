// The official Node client, with a handler that says what it got.
import * as lark from "@larksuiteoapi/node-sdk";
import { HttpsProxyAgent } from "https-proxy-agent";

const agent = new HttpsProxyAgent(process.env.HTTPS_PROXY);
// axios speaks to a proxy for https without CONNECT; the agent knows better.
lark.defaultHttpInstance.defaults.proxy = false;
lark.defaultHttpInstance.defaults.httpsAgent = agent;

const eventDispatcher = new lark.EventDispatcher({}).register({
  "im.message.receive_v1": async ({ message }) => {
    console.log("message", message.message_id, message.content);
  },
});
new lark.WSClient({
  appId: process.env.APP_ID,
  appSecret: process.env.APP_SECRET,
  agent,
  loggerLevel: lark.LoggerLevel.debug,
}).start({ eventDispatcher });
