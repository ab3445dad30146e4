import { createCallDatabase } from "../../../shared/platform/call-database.ts";
import { functionEnvironments, readEnvironment } from "../../../shared/platform/environment.ts";
import { createLog } from "../../../shared/platform/log.ts";
import { createSignedHandler } from "../../../shared/webhooks/signed-handler.ts";
import { createCallbackHandler } from "./handle-callback.ts";

/** A callback contains all logs of the provider run. */
const MAX_CALLBACK_BYTES = 1024 * 1024;

const environment = readEnvironment(functionEnvironments["keyframe-replicate-webhook"], (name) => Deno.env.get(name));
const log = createLog({ function: "keyframe-replicate-webhook" });
const callDatabase = createCallDatabase(environment.SUPABASE_URL, environment.SUPABASE_SECRET_KEYS, fetch);

const handler = createSignedHandler({
  path: "/keyframe-replicate-webhook",
  secret: environment.KEYFRAME_REPLICATE_WEBHOOK_SECRET,
  maxBytes: MAX_CALLBACK_BYTES,
  log,
  handle: createCallbackHandler(callDatabase, log),
});
Deno.serve(handler);
