import { parseOptions, readNumber, runMain, stopSignals } from "../command-line/run-main.ts";
import { describeEvent, describeRefusal } from "./receiver/describe-event.ts";
import { startReceiver } from "./receiver/start-receiver.ts";

const DEFAULT_PORT = 54390;

const HELP = `npm run receiver -- [options]   receives webhooks on this machine, verifies them and prints each

  --secret whsec_…   the signing secret; several: separated by commas (default: WEBHOOK_SECRET)
  --port N           where to listen on 127.0.0.1 (default ${DEFAULT_PORT}; 0: any free one)
  --json             one JSON line for each event
  --fail N           answer 500 to the first N events, to see the retries
  --hang SECONDS     answer after this time; after 15 s the sender gives up and retries`;

async function main(): Promise<number> {
  const { json, ...given } = parseOptions({
    args: Deno.args,
    options: {
      port: { type: "string", default: String(DEFAULT_PORT) },
      secret: { type: "string", multiple: true, default: [Deno.env.get("WEBHOOK_SECRET") ?? ""] },
      fail: { type: "string", default: "0" },
      hang: { type: "string", default: "0" },
      json: { type: "boolean", default: false },
    },
  }).values;
  const port = readNumber("port", given.port, 0, 65_535);
  const secrets = given.secret.flatMap((list) => list.split(",").map((one) => one.trim())).filter((one) => one !== "");
  if (secrets.length === 0) {
    console.error(howToGetASecret(port));
    return 1;
  }
  const signal = stopSignals();
  const receiver = startReceiver({
    port,
    secrets,
    failFirst: readNumber("fail", given.fail, 0, 1_000_000),
    hangMs: readNumber("hang", given.hang, 0, 3600) * 1000,
    keep: 0,
    onEvent: (received) => {
      const { id, receivedAt, duplicate, event } = received;
      console.log(json ? JSON.stringify({ id, receivedAt, duplicate, event }) : describeEvent(received));
    },
    onRefusal: (refused) => console.log(json ? JSON.stringify({ refused }) : describeRefusal(refused)),
  });
  const { url } = receiver;
  console.log(json ? JSON.stringify({ ready: true, port: Number(new URL(url).port) }) : `Listening on ${url}`);
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
  await receiver.stop();
  return 0;
}

/** The steps without a secret: register the receiver's URL and start it with the secret in the answer. */
function howToGetASecret(port: number): string {
  return `The receiver needs the secret that signs its events. Register its address: the answer has the secret.

  API=http://127.0.0.1:54321/functions/v1/api        # where npm start serves
  TOKEN=…                                            # a session token: npm start prints the command that gets one
  export WEBHOOK_SECRET=$(curl -s $API/webhooks -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{"url":"http://127.0.0.1:${port}/"}' | sed 's/.*"secret":"\\([^"]*\\)".*/\\1/')
  npm run receiver${port === DEFAULT_PORT ? "" : ` -- --port ${port}`}

Registered already? GET $API/webhooks lists your endpoints, GET $API/webhooks/<id>/secret returns the secret again.
More: docs/receive-webhooks.md`;
}

runMain(HELP, main);
