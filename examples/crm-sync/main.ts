import { createServer } from "node:http";
import process from "node:process";
import { Webhook } from "standardwebhooks";
import { createHubSpot } from "./hubspot.ts";
import { createAsk } from "./hubspot-request.ts";
import { createJsonLines } from "./json-lines.ts";
import { createReceiver } from "./receive.ts";
import { readSettings, settings } from "./settings.ts";
import { openStore } from "./store.ts";
import { createSync } from "./sync.ts";

// Standard output is for the lines of JSON alone.
const log = (line: string) => console.error(`${new Date().toISOString()} ${line}`);

function main(): void {
  const env = readSettings(settings, process.env);
  const store = openStore(env.STORE_FILE);
  const lines = env.HUBSPOT_TOKEN ? null : createJsonLines(env.JSON_FILE ?? null);
  const ask = createAsk({ baseUrl: env.HUBSPOT_API_URL, token: env.HUBSPOT_TOKEN ?? "", fetch });
  const crm = lines ?? createHubSpot(ask, { pipeline: env.HUBSPOT_PIPELINE, stage: env.HUBSPOT_DEAL_STAGE });
  const webhooks = env.WEBHOOK_SECRET.split(",").map((secret) => new Webhook(secret));
  const receive = createReceiver({ webhooks, sync: createSync({ store, crm, now: () => new Date() }), log });
  // What is thrown here could not be answered either: the sender has left.
  const server = createServer(
    (request, response) => void receive(request, response).catch((error) => log(String(error))),
  );
  server.on("error", (error) => {
    log(error.message);
    process.exit(1);
  });
  server.listen(env.PORT, env.HOST, () => {
    const address = server.address();
    const port = address !== null && typeof address === "object" ? address.port : env.PORT;
    log(`listening on http://${env.HOST}:${port}/, for ${lines ? "lines of JSON" : env.HUBSPOT_API_URL}`);
  });
  const stop = () =>
    server.close(() => {
      lines?.close();
      store.close();
      process.exit(0);
    });
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
}

try {
  main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
