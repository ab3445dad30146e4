import { createCallDatabase } from "../../../shared/platform/call-database.ts";
import { functionEnvironments, readEnvironment } from "../../../shared/platform/environment.ts";
import { createLog } from "../../../shared/platform/log.ts";
import { createKickHandler } from "../../../shared/webhooks/kick-handler.ts";
import { createDeliverWorker } from "./deliver-worker.ts";
import { DATABASE_TIMEOUT_MS } from "./deliveries/delivery-work.ts";

const NAME = "keyframe-deliver";

const environment = readEnvironment(functionEnvironments[NAME], (name) => Deno.env.get(name));
const { SUPABASE_URL: url, SUPABASE_SECRET_KEYS: secretKey, KEYFRAME_ALLOW_LOCAL_WEBHOOKS: allowLocal } = environment;
const log = createLog({ function: NAME });
const callDatabase = createCallDatabase(url, secretKey, fetch, DATABASE_TIMEOUT_MS);
const { kick } = createDeliverWorker({ allowLocal, callDatabase, log });

Deno.serve(createKickHandler({ name: NAME, secret: environment.KEYFRAME_KICK_SECRET, log, kick }));
