import { runMain, stopSignals } from "../local/stack/command-line.ts";
import { describeEvent, describeRefusal } from "./receiver/describe-event.ts";
import { DEFAULT_RECEIVER_PORT, howToGetASecret, readReceiverArguments } from "./receiver/read-receiver-arguments.ts";
import { startReceiver } from "./receiver/start-receiver.ts";

const HELP = `npm run receiver -- [options]   receives webhooks on this machine, verifies them and prints each

  --secret whsec_…   what the events are signed with; several: comma separated (default: WEBHOOK_SECRET)
  --port N           where to listen on 127.0.0.1 (default ${DEFAULT_RECEIVER_PORT}; 0: any free one)
  --json             one JSON line for each event
  --fail N           answer 500 to the first N events, to see them come again
  --hang SECONDS     answer so late; after 15 s the sender has given up and sends it again`;

async function main(): Promise<number> {
  const { json, ...options } = readReceiverArguments(Deno.args, (name) => Deno.env.get(name));
  if (options.secrets.length === 0) {
    console.error(howToGetASecret(options.port));
    return 1;
  }
  const signal = stopSignals();
  const receiver = startReceiver({
    ...options,
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

runMain(HELP, main);
